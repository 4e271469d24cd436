import type { z } from 'zod';
import { inputOn, type QueuedOperation } from '../operations/define.ts';
import { toFaults } from '../operations/faults.ts';
import { queuedOperation } from '../operations/index.ts';
import { quoted } from '../operations/params/request.ts';
import { type ParameterFault, SoukError } from '../platform/errors.ts';
import { parseJson, stringifyJson } from '../platform/json.ts';
import type { Item } from './pack.ts';
import {
  type BATCH_SETTINGS,
  batchBodySchema,
  batchQuerySchema,
  type FeedWindow,
  type ITEM_SOURCES,
  MOST_ITEMS,
} from './request-schemas.ts';

const DAY_MS = 86_400_000;

/** How long a batch has when it says nothing, and at most. */
export const DEFAULT_TIME_MS = 7 * DAY_MS;
export const LONGEST_TIME_MS = 30 * DAY_MS;

/** What a batch is asked to do, without its items. */
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

/** A fault of the request, or of one of its items. */
export type BatchFault = ParameterFault & { index?: number };

/** Everything that is wrong with a request. */
export class BatchFaults extends Error {
  readonly faults: readonly BatchFault[];

  constructor(faults: readonly BatchFault[]) {
    super(`${faults.length} faults`);
    this.faults = faults;
  }
}

/** How a request arrived: one JSON document, or settings in the query and an item a line. */
export type Upload =
  | { type: 'json'; body: string }
  | { type: 'ndjson'; body: string; query: Record<string, unknown> };

/**
 * Reads a request for a batch and all of its items.
 * @param breathe called every few hundred items, so that whoever else needs this process gets on.
 * @throws BatchFaults naming everything that is wrong.
 */
export async function readBatch(
  upload: Upload,
  breathe: () => Promise<void>,
  now: number,
): Promise<BatchRequest> {
  const { settings, operation, raws } =
    upload.type === 'json' ? readDocument(upload.body) : readLines(upload);
  const items = await readItems(operation, raws, breathe, now);
  return { operation, items, settings: settingsOf(settings) };
}

/** Reads the items alone, which must all be good. */
export async function readItems(
  operation: QueuedOperation,
  raws: readonly unknown[],
  breathe: () => Promise<void>,
  now: number,
): Promise<Item[]> {
  const items: Item[] = [];
  const faults: BatchFault[] = [];
  let totalBytes = 0;
  let breathAt = 0;
  for (const [index, given] of raws.entries()) {
    const raw = given instanceof Line ? parsed(given.text) : given;
    const problem =
      given instanceof Line && raw instanceof NotJson ? `line ${given.line} is not valid JSON` : null;
    const bytes = problem === null ? sizeOf(raw) : 0;
    if (bytes === Number.POSITIVE_INFINITY) {
      faults.push({ index, parameter: 'body', problem: 'is nested too deeply' });
      break;
    }
    totalBytes += bytes;
    if (totalBytes > MOST_BYTES) throw tooLarge();
    if (problem !== null) faults.push({ index, parameter: 'body', problem });
    else if (bytes > LARGEST_ITEM_BYTES)
      faults.push({
        index,
        parameter: 'body',
        problem: `must be at most ${LARGEST_ITEM_BYTES} bytes in JSON; it is ${bytes}`,
      });
    else {
      const result = operation.params.safeParse(raw);
      // The days that are filled in are those of the call, which comes later; here it only counts that there will be some.
      const found = result.success
        ? faultsOnDay(operation, result.data, now)
        : result.error.issues.flatMap(toFaults);
      for (const fault of found) faults.push({ index, ...fault });
      if (result.success && found.length === 0) items.push({ raw, input: result.data });
    }
    if (faults.length >= MOST_FAULTS) {
      faults.push({ parameter: 'items', problem: 'have further faults, which are not listed' });
      break;
    }
    if (totalBytes + index * BYTES_OF_WORK_AN_ITEM < breathAt) continue;
    await breathe();
    breathAt = totalBytes + index * BYTES_OF_WORK_AN_ITEM + BYTES_A_BREATH;
  }
  if (faults.length > 0) throw new BatchFaults(faults);
  return items;
}

/** Roughly what is read in some milliseconds; an item counts as this much more than it is long. */
const BYTES_A_BREATH = 65_536;
const BYTES_OF_WORK_AN_ITEM = 500;

/** As one request, with room for what a queue adds to it. */
const LARGEST_ITEM_BYTES = 48 * 1024;

/** All items together: split makes copies of what they share. */
const MOST_BYTES = 64 * 1024 * 1024;

/** Enough for one in every item. */
const MOST_FAULTS = 100_000;

/** Of an item in JSON; Infinity where it is nested so deep that it fits into a body, but not onto the stack. */
function sizeOf(raw: unknown): number {
  try {
    return Buffer.byteLength(stringifyJson(raw));
  } catch (error) {
    if (error instanceof RangeError) return Number.POSITIVE_INFINITY;
    throw error;
  }
}

function tooLarge(): BatchFaults {
  const problem = `must be at most ${MOST_BYTES} bytes together, each with what it shares with the others`;
  return new BatchFaults([{ parameter: 'items', problem }]);
}

/** What is wrong with an input on the present day. */
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

function readDocument(body: string): Read {
  const document = parseBody(batchBodySchema, body);
  return { settings: document, ...itemsOf(document, '') };
}

/** What a worker reads of a document. @throws BatchFaults. */
export function parseBody<Value>(schema: z.ZodType<Value>, body: string): Value {
  const document = parsed(body);
  if (document instanceof NotJson)
    throw new BatchFaults([{ parameter: 'body', problem: 'is not valid JSON' }]);
  return parseAs(schema, document);
}

/**
 * The items a document names, as they were sent.
 * @param within where in the document they are, for messages: '' or 'batch.'.
 * @throws BatchFaults
 */
export function itemsOf(
  { operation: name, items, params, split }: z.output<z.ZodObject<typeof ITEM_SOURCES>>,
  within: string,
): { operation: QueuedOperation; raws: readonly unknown[] } {
  const fault = (parameter: string, problem: string) =>
    new BatchFaults([{ parameter: `${within}${parameter}`, problem }]);
  if (items && split) throw fault('items', 'and split exclude each other: send one of them');
  if (items && params) throw fault('params', 'goes with split only: an item has all of its parameters');
  if (items) return { operation: operationOf(name), raws: counted(items, fault) };
  if (!split) throw fault('items', 'is required: send a list of parameter objects, or params and split');
  const [[field, values] = ['', []], ...others] = Object.entries(split);
  if (others.length > 0 || field === '') throw fault('split', 'must hold exactly one list');
  if (params && Object.hasOwn(params, field))
    throw fault('params', `holds ${quoted(field)}, which split gives each item a value of`);
  const raws = counted(values, fault).map((value) => ({ ...params, [field]: value }));
  return { operation: operationOf(name), raws };
}

function counted(
  raws: readonly unknown[],
  fault: (parameter: string, problem: string) => BatchFaults,
): readonly unknown[] {
  if (raws.length === 0) throw fault('items', 'must hold at least one item');
  if (raws.length <= MOST_ITEMS) return raws;
  throw fault('items', `must be at most ${MOST_ITEMS} items; ${raws.length} were given`);
}

function operationOf(name: string): QueuedOperation {
  const operation = queuedOperation(name);
  if (!operation) throw new Error(`no operation ${name}`);
  return operation;
}

/** Empty lines are no items, so a file may end with one. */
function readLines({ body, query }: Extract<Upload, { type: 'ndjson' }>): Read {
  const { operation, ...settings } = parseAs(batchQuerySchema, query);
  const raws: Line[] = [];
  for (const [i, written] of body.split('\n').entries())
    if (written.trim() !== '') raws.push(new Line(i + 1, written));
  const fault = (parameter: string, problem: string) => new BatchFaults([{ parameter, problem }]);
  return { settings, operation: operationOf(operation), raws: counted(raws, fault) };
}

class Line {
  readonly line: number;
  readonly text: string;

  constructor(line: number, written: string) {
    this.line = line;
    this.text = written;
  }
}

class NotJson {}

function parsed(written: string): unknown {
  try {
    return parseJson(written);
  } catch {
    return new NotJson();
  }
}

function parseAs<Value>(schema: z.ZodType<Value>, raw: unknown): Value {
  const result = schema.safeParse(raw);
  if (result.success) return result.data;
  throw new BatchFaults(result.error.issues.flatMap(toFaults));
}
