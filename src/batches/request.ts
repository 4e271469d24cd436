import { z } from 'zod';
import type { ParameterFault } from '../errors.ts';
import { toFaults } from '../faults.ts';
import { parseJson } from '../json.ts';
import type { QueuedOperation } from '../operations/define.ts';
import { QUEUED, queuedOperation } from '../operations/index.ts';
import { quoted } from '../operations/params/request.ts';
import { integer, oneOf, text } from '../operations/params/scalars.ts';
import type { Item } from './pack.ts';

export const MOST_ITEMS = 100_000;

export const FEED_WINDOWS = ['any', 'off_peak'] as const;

export type FeedWindow = (typeof FEED_WINDOWS)[number];

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

/** Where the items of a JSON document are. */
export const ITEM_SOURCES = {
  operation: oneOf(QUEUED.map(({ name }) => name) as [string, ...string[]]),
  items: z.array(z.unknown(), 'must be a list of parameter objects').optional(),
  params: z.record(z.string(), z.unknown(), 'must be an object of parameters').optional(),
  split: z
    .record(z.string(), z.array(z.unknown(), 'must be a list'), 'must be an object with one list')
    .optional(),
};

const SETTINGS = {
  name: text({ maxLength: 200 }).nullable().default(null),
  maxUnits: integer({ min: 0 }).nullable().default(null),
  window: oneOf(FEED_WINDOWS).default('any'),
  deadline: z.iso
    .datetime({ offset: true, error: 'must be an ISO 8601 date and time such as 2026-05-01T12:00:00Z' })
    .nullable()
    .default(null),
  webhook: text({ maxLength: 2_000 }).nullable().default(null),
  idempotencyKey: text({ maxLength: 200 }).nullable().default(null),
};

const queryShape = z.object({ operation: ITEM_SOURCES.operation, ...SETTINGS });

const bodyShape = z.strictObject({ ...ITEM_SOURCES, ...SETTINGS }, 'must be a JSON object');

/**
 * Reads a request for a batch and all of its items.
 * @param breathe called every few hundred items, so that whoever else needs this process gets on.
 * @throws BatchFaults naming everything that is wrong.
 */
export async function readBatch(upload: Upload, breathe: () => Promise<void>): Promise<BatchRequest> {
  const { settings, operation, raws } =
    upload.type === 'json' ? readDocument(upload.body) : readLines(upload);
  const items = await readItems(operation, raws, breathe);
  return { operation, items, settings: settingsOf(settings) };
}

/** Reads the items alone, which must all be good. */
export async function readItems(
  operation: QueuedOperation,
  raws: readonly unknown[],
  breathe: () => Promise<void>,
): Promise<Item[]> {
  const items: Item[] = [];
  const faults: BatchFault[] = [];
  for (const [index, raw] of raws.entries()) {
    if (raw instanceof NotJson) {
      faults.push({ index, parameter: 'body', problem: `line ${raw.line} is not valid JSON` });
      continue;
    }
    const result = operation.params.safeParse(raw);
    if (result.success) items.push({ raw, input: result.data });
    else faults.push(...result.error.issues.flatMap(toFaults).map((fault) => ({ index, ...fault })));
    if (index % ITEMS_A_BREATH === 0) await breathe();
  }
  if (faults.length > 0) throw new BatchFaults(faults);
  return items;
}

const ITEMS_A_BREATH = 200;

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
  settings: z.output<z.ZodObject<typeof SETTINGS>>;
  operation: QueuedOperation;
  raws: readonly unknown[];
}

function readDocument(body: string): Read {
  const document = parseBody(bodyShape, body);
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
  if (items && (params || split)) throw fault('items', 'and split exclude each other: send one of them');
  if (items) return { operation: operationOf(name), raws: counted(items, fault) };
  if (!split) throw fault('items', 'is required: send a list of parameter objects, or params and split');
  const [[field, values] = ['', []], ...others] = Object.entries(split);
  if (others.length > 0 || field === '') throw fault('split', 'must hold exactly one list');
  if (params && field in params)
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
  const { operation, ...settings } = parseAs(queryShape, query);
  const raws: unknown[] = [];
  let line = 0;
  for (const written of body.split('\n')) {
    line += 1;
    if (written.trim() === '') continue;
    const raw = parsed(written);
    raws.push(raw instanceof NotJson ? new NotJson(line) : raw);
  }
  const fault = (parameter: string, problem: string) => new BatchFaults([{ parameter, problem }]);
  return { settings, operation: operationOf(operation), raws: counted(raws, fault) };
}

class NotJson {
  readonly line: number;

  constructor(line: number) {
    this.line = line;
  }
}

function parsed(written: string): unknown {
  try {
    return parseJson(written);
  } catch {
    return new NotJson(0);
  }
}

function parseAs<Value>(schema: z.ZodType<Value>, raw: unknown): Value {
  const result = schema.safeParse(raw);
  if (result.success) return result.data;
  throw new BatchFaults(result.error.issues.flatMap(toFaults));
}
