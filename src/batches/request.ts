import type { z } from 'zod';
import { inputOn, type QueuedOperation } from '../operations/define.ts';
import { toFaults } from '../operations/faults.ts';
import { queuedOperation } from '../operations/index.ts';
import { shownValue } from '../operations/params/shown-value.ts';
import { type ParameterFault, SoukError } from '../platform/errors.ts';
import { stringifyJson } from '../platform/json.ts';
import { type BatchFault, BatchFaults } from './batch-faults.ts';
import type { Item } from './pack.ts';
import {
  type BATCH_SETTINGS,
  batchBodySchema,
  batchQuerySchema,
  type FeedWindow,
  type ITEM_SOURCES,
  MOST_ITEMS,
} from './request-schemas.ts';
import {
  itemTooLarge,
  LARGEST_ITEM_BYTES,
  Line,
  linesOf,
  parseAs,
  parseBody,
  Unreadable,
} from './upload-text.ts';

const DAY_MS = 86_400_000;

/** The default and the longest time from creation to the deadline. */
export const DEFAULT_TIME_MS = 7 * DAY_MS;
export const LONGEST_TIME_MS = 30 * DAY_MS;

/** The settings of a requested batch, without its items. */
export interface BatchSettings {
  name: string | null;
  maxUnits: number | null;
  window: FeedWindow;
  /** Unix milliseconds. */
  deadlineAt: number | null;
  webhook: string | null;
  idempotencyKey: string | null;
}

export interface BatchRequest {
  operation: QueuedOperation;
  settings: BatchSettings;
  items: Item[];
}

/** The form of the request: one JSON document, or settings in the query and one item in each line. */
export type Upload =
  | { type: 'json'; body: string }
  | { type: 'ndjson'; body: string; query: Record<string, unknown> };

/**
 * Reads a request for a batch with all of its items.
 * @param yieldToEvents called every few hundred items, so that the process can do other work.
 * @throws BatchFaults with all faults.
 */
export async function readBatch(
  upload: Upload,
  yieldToEvents: () => Promise<void>,
  now: number,
): Promise<BatchRequest> {
  const { settings, operation, raws } =
    upload.type === 'json' ? await readDocument(upload.body) : await readLines(upload, yieldToEvents);
  const items = await readItems(operation, raws, yieldToEvents, now);
  return { operation, items, settings: settingsOf(settings) };
}

/** Reads items without the other fields of a batch. @throws BatchFaults if any item is invalid. */
export async function readItems(
  operation: QueuedOperation,
  raws: readonly unknown[],
  yieldToEvents: () => Promise<void>,
  now: number,
): Promise<Item[]> {
  const items: Item[] = [];
  const faults: BatchFault[] = [];
  let totalBytes = 0;
  let yieldAt = 0;
  for (const [index, given] of raws.entries()) {
    const raw = given instanceof Line ? given.read() : given;
    const problem = raw instanceof Unreadable ? raw.problem : null;
    const bytes = problem === null ? sizeOf(raw) : 0;
    totalBytes += bytes;
    if (totalBytes > MOST_BYTES) throw tooLarge();
    if (problem !== null) faults.push({ index, parameter: 'body', problem });
    else if (bytes > LARGEST_ITEM_BYTES)
      faults.push({ index, parameter: 'body', problem: itemTooLarge(bytes) });
    else {
      const result = operation.params.safeParse(raw);
      // The default dates are filled in on the day of each call. This only checks that they can be.
      const found = result.success
        ? faultsOnDay(operation, result.data, now)
        : result.error.issues.flatMap(toFaults);
      for (const fault of found) faults.push({ index, ...fault });
      if (result.success && found.length === 0) items.push({ raw, input: result.data });
    }
    if (faults.length >= MOST_FAULTS) {
      faults.push({ parameter: 'items', problem: 'have more faults than are listed here' });
      break;
    }
    if (totalBytes + index * EXTRA_BYTES_PER_ITEM < yieldAt) continue;
    await yieldToEvents();
    yieldAt = totalBytes + index * EXTRA_BYTES_PER_ITEM + BYTES_BETWEEN_YIELDS;
  }
  if (faults.length > 0) throw new BatchFaults(faults);
  return items;
}

/** The bytes that a process reads in a few milliseconds. An item counts as its length plus EXTRA_BYTES_PER_ITEM. */
const BYTES_BETWEEN_YIELDS = 65_536;
const EXTRA_BYTES_PER_ITEM = 500;

/** Limits all items together, because `split` copies the shared parameters into each item. */
const MOST_BYTES = 64 * 1024 * 1024;

/** Enough for one fault in every item. */
const MOST_FAULTS = 100_000;

/** Size of an item in JSON. */
function sizeOf(raw: unknown): number {
  return Buffer.byteLength(stringifyJson(raw));
}

function tooLarge(): BatchFaults {
  const problem = `must be at most ${MOST_BYTES} bytes in total, each item counted with the parameters it shares`;
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

function settingsOf({
  name,
  maxUnits,
  window,
  deadline,
  webhook,
  idempotencyKey,
}: Read['settings']): BatchSettings {
  const deadlineAt = deadline === null ? null : Date.parse(deadline);
  return { name, maxUnits, window, deadlineAt, webhook, idempotencyKey };
}

interface Read {
  settings: z.output<z.ZodObject<typeof BATCH_SETTINGS>>;
  operation: QueuedOperation;
  raws: readonly unknown[];
}

async function readDocument(body: string): Promise<Read> {
  const document = await parseBody(batchBodySchema, body);
  return { settings: document, ...itemsOf(document, '') };
}

/**
 * Returns the items of a document as sent.
 * @param within path of the items in the document, for messages: '' or 'batch.'.
 * @throws BatchFaults
 */
export function itemsOf(
  { operation: name, items, params, split }: z.output<z.ZodObject<typeof ITEM_SOURCES>>,
  within: string,
): { operation: QueuedOperation; raws: readonly unknown[] } {
  const fault = (parameter: string, problem: string) =>
    new BatchFaults([{ parameter: `${within}${parameter}`, problem }]);
  if (items && split) throw fault('items', 'and split are both present: send only one of them');
  if (items && params)
    throw fault('params', 'can be used with split only: each entry of items contains all of its parameters');
  if (items) {
    counted(items.length, fault);
    return { operation: operationOf(name), raws: items };
  }
  if (!split) throw fault('items', 'is required: send a list of parameter objects, or params and split');
  const [[field, values] = ['', []], ...others] = Object.entries(split);
  if (others.length > 0 || field === '')
    throw fault('split', 'must contain exactly one parameter with a list');
  if (params && Object.hasOwn(params, field))
    throw fault('params', `must not contain ${shownValue(field)}, because split sets it for each item`);
  counted(values.length, fault);
  // Before the parameters are copied, because the copies can take much more memory than the document.
  if (params && sizeOf(params) * values.length > MOST_BYTES) throw tooLarge();
  return { operation: operationOf(name), raws: values.map((value) => ({ ...params, [field]: value })) };
}

function counted(count: number, fault: (parameter: string, problem: string) => BatchFaults): void {
  if (count === 0) throw fault('items', 'must contain at least one item');
  if (count > MOST_ITEMS) throw fault('items', `must be at most ${MOST_ITEMS} items; ${count} were given`);
}

function operationOf(name: string): QueuedOperation {
  const operation = queuedOperation(name);
  if (!operation) throw new Error(`unknown operation ${name}`);
  return operation;
}

async function readLines(
  { body, query }: Extract<Upload, { type: 'ndjson' }>,
  yieldToEvents: () => Promise<void>,
): Promise<Read> {
  const { operation, ...settings } = parseAs(batchQuerySchema, query);
  const { lines, count } = await linesOf(body, MOST_ITEMS, yieldToEvents);
  counted(count, (parameter, problem) => new BatchFaults([{ parameter, problem }]));
  return { settings, operation: operationOf(operation), raws: lines };
}
