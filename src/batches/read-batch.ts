import { z } from 'zod';
import { inputOn, type QueuedOperation } from '../operations/define.ts';
import { faultsIn } from '../operations/faults.ts';
import { existingOperation, QUEUED_NAMES } from '../operations/index.ts';
import { exactObject } from '../operations/params/request.ts';
import { integer, oneOf, shownValue, text } from '../operations/params/scalars.ts';
import { DAY_MS } from '../platform/durations.ts';
import { type ParameterFault, SoukError } from '../platform/errors.ts';
import { stringifyJson } from '../platform/json.ts';
import type { Item } from './bundle.ts';
import type { Pause } from './pauses.ts';
import {
  type BatchFault,
  BatchFaults,
  itemTooLarge,
  LARGEST_ITEM_BYTES,
  Line,
  linesOf,
  parseAs,
  parseBody,
  Unreadable,
} from './upload-text.ts';

const MOST_ITEMS = 100_000;

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

const BATCH_SETTINGS = {
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
export const batchBodySchema = exactObject({ ...ITEM_SOURCES, ...BATCH_SETTINGS });

/** The default and the longest time from creation to the deadline. */
export const DEFAULT_TIME_MS = 7 * DAY_MS;
export const LONGEST_TIME_MS = 30 * DAY_MS;

type SentSettings = z.output<z.ZodObject<typeof BATCH_SETTINGS>>;

/** The settings of a requested batch, without its items. Times are Unix milliseconds. */
export type BatchSettings = Omit<SentSettings, 'deadline'> & { deadlineAt: number | null };

export interface BatchRequest {
  operation: QueuedOperation;
  settings: BatchSettings;
  items: Item[];
}

/** The form of the request: one JSON document, or settings in the query and one item in each line. */
export type Upload =
  | { type: 'json'; body: string }
  | { type: 'ndjson'; body: string; query: Record<string, unknown> };

/** Reads a request for a batch with all of its items. @throws BatchFaults with all faults. */
export async function readBatch(upload: Upload, pause: Pause, now: number): Promise<BatchRequest> {
  const { settings, operation, raws } =
    upload.type === 'json' ? await readDocument(upload.body) : await readLines(upload, pause);
  const items = await readItems(operation, raws, pause, now);
  const { deadline, ...others } = settings;
  const deadlineAt = deadline === null ? null : Date.parse(deadline);
  return { operation, items, settings: { ...others, deadlineAt } };
}

/** Reads items without the other fields of a batch. @throws BatchFaults if any item is invalid. */
export async function readItems(
  operation: QueuedOperation,
  raws: readonly unknown[],
  pause: Pause,
  now: number,
  limits = ITEM_LIMITS,
): Promise<Item[]> {
  const items: Item[] = [];
  const faults: BatchFault[] = [];
  let totalBytes = 0;
  for (const [index, given] of raws.entries()) {
    const raw = given instanceof Line ? given.read() : given;
    const problem = raw instanceof Unreadable ? raw.problem : null;
    const bytes = problem === null ? sizeOf(raw) : 0;
    totalBytes += bytes;
    if (totalBytes > limits.bytes) throw tooLarge(limits);
    if (problem !== null) faults.push({ index, parameter: 'body', problem });
    else if (bytes > LARGEST_ITEM_BYTES)
      faults.push({ index, parameter: 'body', problem: itemTooLarge(bytes) });
    else {
      const result = operation.params.safeParse(raw);
      // The default dates are filled in on the day of each call. This only checks that they can be.
      const found = result.success ? faultsOnDay(operation, result.data, now) : faultsIn(result.error);
      for (const fault of found) faults.push({ index, ...fault });
      if (result.success && found.length === 0) items.push({ raw, input: result.data });
    }
    if (faults.length >= limits.faults) {
      faults.push({ parameter: 'items', problem: 'have more faults than are listed here' });
      break;
    }
    await pause();
  }
  if (faults.length > 0) throw new BatchFaults(faults);
  return items;
}

/**
 * Limits on all items together, because `split` copies the shared parameters into each item, and on the faults that are
 * listed: a fault in every item.
 */
export const ITEM_LIMITS = { bytes: 64 * 1024 * 1024, faults: 100_000 };

/** Size of an item in JSON. */
function sizeOf(raw: unknown): number {
  return Buffer.byteLength(stringifyJson(raw));
}

function tooLarge({ bytes }: typeof ITEM_LIMITS): BatchFaults {
  const problem = `must be at most ${bytes} bytes in total, each item counted with the parameters it shares`;
  return new BatchFaults([{ parameter: 'items', problem }]);
}

/** Returns the faults of an input for the present day. */
function faultsOnDay(operation: QueuedOperation, input: unknown, now: number): readonly ParameterFault[] {
  try {
    inputOn(operation, input, now);
    return [];
  } catch (error) {
    if (!(error instanceof SoukError)) throw error;
    const { errors } = (error.metadata ?? {}) as { errors?: readonly ParameterFault[] };
    return errors ?? [{ parameter: 'body', problem: error.message }];
  }
}

interface Read {
  settings: SentSettings;
  operation: QueuedOperation;
  raws: readonly unknown[];
}

async function readDocument(body: string): Promise<Read> {
  const { operation, items, params, split, ...settings } = await parseBody(batchBodySchema, body);
  return { settings, ...itemsOf({ operation, items, params, split }, '') };
}

/**
 * Returns the items of a document as sent.
 * @param within path of the items in the document, for messages: '' or 'batch.'.
 * @throws BatchFaults
 */
export function itemsOf(
  { operation: name, items, params, split }: z.output<z.ZodObject<typeof ITEM_SOURCES>>,
  within: string,
  limits = ITEM_LIMITS,
): { operation: QueuedOperation; raws: readonly unknown[] } {
  const fault = (parameter: string, problem: string) =>
    new BatchFaults([{ parameter: `${within}${parameter}`, problem }]);
  if (items && split) throw fault('items', 'and split are both present: send only one of them');
  if (items && params)
    throw fault('params', 'can be used with split only: each entry of items contains all of its parameters');
  if (items) {
    counted(items.length, 'items', fault);
    return { operation: existingOperation(name), raws: items };
  }
  if (!split) throw fault('items', 'is required: send a list of parameter objects, or params and split');
  const [[field, values] = ['', []], ...others] = Object.entries(split);
  if (others.length > 0 || field === '')
    throw fault('split', 'must contain exactly one parameter with a list');
  if (params && Object.hasOwn(params, field))
    throw fault('params', `must not contain ${shownValue(field)}, because split sets it for each item`);
  counted(values.length, 'split', fault);
  // Before the parameters are copied, because the copies can take much more memory than the document.
  if (params && sizeOf(params) * values.length > limits.bytes) throw tooLarge(limits);
  return { operation: existingOperation(name), raws: values.map((value) => ({ ...params, [field]: value })) };
}

function counted(
  count: number,
  parameter: 'items' | 'split',
  fault: (parameter: string, problem: string) => BatchFaults,
): void {
  if (count === 0) throw fault(parameter, 'must contain at least one item');
  if (count > MOST_ITEMS) throw fault(parameter, `must be at most ${MOST_ITEMS} items; ${count} were given`);
}

async function readLines({ body, query }: Extract<Upload, { type: 'ndjson' }>, pause: Pause): Promise<Read> {
  const { operation, ...settings } = parseAs(batchQuerySchema, query);
  const { lines, count } = await linesOf(body, MOST_ITEMS, pause);
  counted(count, 'items', (parameter, problem) => new BatchFaults([{ parameter, problem }]));
  return { settings, operation: existingOperation(operation), raws: lines };
}
