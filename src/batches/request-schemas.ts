import { z } from 'zod';
import { QUEUED_NAMES } from '../operations/index.ts';
import { integer, oneOf, text } from '../operations/params/scalars.ts';

export const MOST_ITEMS = 100_000;

export const FEED_WINDOWS = ['any', 'off_peak'] as const;

export type FeedWindow = (typeof FEED_WINDOWS)[number];

/** Where the items of a JSON document are. */
export const ITEM_SOURCES = {
  operation: oneOf(QUEUED_NAMES).describe('What is done'),
  items: z.array(z.unknown(), 'must be a list of parameter objects').optional().meta({
    description:
      'Parameters of each item, as the operation takes them in a body; instead of params and split',
    maxItems: MOST_ITEMS,
  }),
  params: z
    .record(z.string(), z.unknown(), 'must be an object of parameters')
    .optional()
    .meta({ description: 'Parameters that all items have', maxProperties: 200 }),
  split: z
    .record(
      z.string(),
      z.array(z.unknown(), 'must be a list').meta({ maxItems: MOST_ITEMS }),
      'must be an object with one list',
    )
    .optional()
    .meta({
      description: 'One parameter with a list: each item has one value of it',
      minProperties: 1,
      maxProperties: 1,
    }),
};

/** What a batch is told besides its items. */
export const BATCH_SETTINGS = {
  name: text({ maxLength: 200 })
    .nullable()
    .default(null)
    .meta({ description: 'For its owner only', examples: ['Prices of the competition'] }),
  maxUnits: integer({ min: 0 })
    .nullable()
    .default(null)
    .meta({ description: 'Refuse the batch when it can cost more', examples: [1000] }),
  window: oneOf(FEED_WINDOWS).default('any').describe('off_peak: work in the off-peak window only'),
  deadline: z.iso
    .datetime({ offset: true, error: 'must be an ISO 8601 date and time such as 2026-05-01T12:00:00Z' })
    .nullable()
    .default(null)
    .meta({
      description: 'What is not done by then is given up; a week unless given, 30 days at most',
      examples: ['2026-05-01T12:00:00Z'],
    }),
  webhook: text({ maxLength: 2_000 })
    .nullable()
    .default(null)
    .meta({ description: 'Where the end of the batch is told', examples: ['https://example.com/hook'] }),
  idempotencyKey: text({ maxLength: 200 })
    .nullable()
    .default(null)
    .meta({
      description: 'A request that is repeated under it makes no second batch',
      examples: ['2026-w18'],
    }),
};

/** The settings of a batch whose body is an item a line. */
export const batchQuerySchema = z.object({ operation: ITEM_SOURCES.operation, ...BATCH_SETTINGS });

/** A batch as one document. */
export const batchBodySchema = z.strictObject(
  { ...ITEM_SOURCES, ...BATCH_SETTINGS },
  'must be a JSON object',
);
