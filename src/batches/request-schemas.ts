import { z } from 'zod';
import { QUEUED_NAMES } from '../operations/index.ts';
import { integer, oneOf, text } from '../operations/params/scalars.ts';

export const MOST_ITEMS = 100_000;

export const FEED_WINDOWS = ['any', 'off_peak'] as const;

export type FeedWindow = (typeof FEED_WINDOWS)[number];

/** The fields of a JSON document that hold the items. */
export const ITEM_SOURCES = {
  operation: oneOf(QUEUED_NAMES).describe('Operation of all items'),
  items: z.array(z.unknown(), 'must be a list of parameter objects').optional().meta({
    description: 'Parameters of each item, as in a body of the operation; instead of params and split',
    maxItems: MOST_ITEMS,
  }),
  params: z
    .record(z.string(), z.unknown(), 'must be an object of parameters')
    .optional()
    .meta({ description: 'Parameters that all items share', maxProperties: 200 }),
  split: z
    .record(
      z.string(),
      z.array(z.unknown(), 'must be a list').meta({ maxItems: MOST_ITEMS }),
      'must be an object with one list',
    )
    .optional()
    .meta({
      description: 'One parameter with a list of values; each value becomes an item',
      minProperties: 1,
      maxProperties: 1,
    }),
};

/** The settings of a batch. */
export const BATCH_SETTINGS = {
  name: text({ maxLength: 200 })
    .nullable()
    .default(null)
    .meta({
      description: 'Name of the batch, visible to its account only',
      examples: ['Prices of the competition'],
    }),
  maxUnits: integer({ min: 0 })
    .nullable()
    .default(null)
    .meta({ description: 'Refuse the batch if it can cost more than this', examples: [1000] }),
  window: oneOf(FEED_WINDOWS).default('any').describe('off_peak: submit calls in the off-peak window only'),
  deadline: z.iso
    .datetime({ offset: true, error: 'must be an ISO 8601 date and time such as 2026-05-01T12:00:00Z' })
    .nullable()
    .default(null)
    .meta({
      description:
        'Items that are not done by this time fail. Default: 7 days after creation; at most 30 days',
      examples: ['2026-05-01T12:00:00Z'],
    }),
  webhook: text({ maxLength: 2_000 })
    .nullable()
    .default(null)
    .meta({
      description: 'Address that receives a message when the batch finishes',
      examples: ['https://example.com/hook'],
    }),
  idempotencyKey: text({ maxLength: 200 })
    .nullable()
    .default(null)
    .meta({
      description: 'Repeating the request with the same key does not create a second batch',
      examples: ['2026-w18'],
    }),
};

/** The query of a batch whose body has one item in each line. */
export const batchQuerySchema = z.object({ operation: ITEM_SOURCES.operation, ...BATCH_SETTINGS });

/** Body of a batch that is one JSON document. */
export const batchBodySchema = z.strictObject(
  { ...ITEM_SOURCES, ...BATCH_SETTINGS },
  'must be a JSON object',
);
