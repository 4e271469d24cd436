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

const SETTINGS = {
  operation: oneOf(QUEUED.map(({ name }) => name) as [string, ...string[]]),
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

const queryShape = z.object(SETTINGS);

const bodyShape = z.strictObject(
  {
    ...SETTINGS,
    items: z.array(z.unknown(), 'must be a list of parameter objects').optional(),
    params: z.record(z.string(), z.unknown(), 'must be an object of parameters').optional(),
    split: z
      .record(z.string(), z.array(z.unknown(), 'must be a list'), 'must be an object with one list')
      .optional(),
  },
  'must be a JSON object',
);

/**
 * Reads a request for a batch and all of its items.
 * @param breathe called every few hundred items, so that whoever else needs this process gets on.
 * @throws BatchFaults naming everything that is wrong.
 */
export async function readBatch(upload: Upload, breathe: () => Promise<void>): Promise<BatchRequest> {
  const { settings, raws } = upload.type === 'json' ? readDocument(upload.body) : readLines(upload);
  const operation = queuedOperation(settings.operation);
  if (!operation) throw new Error(`no operation ${settings.operation}`);
  if (raws.length === 0)
    throw new BatchFaults([{ parameter: 'items', problem: 'must hold at least one item' }]);
  if (raws.length > MOST_ITEMS) {
    const problem = `must be at most ${MOST_ITEMS} items; ${raws.length} were given`;
    throw new BatchFaults([{ parameter: 'items', problem }]);
  }
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
}: z.output<typeof queryShape>): BatchSettings {
  const deadlineAt = deadline === null ? null : Date.parse(deadline);
  return { name, maxUnits, window, deadlineAt, webhook, idempotencyKey };
}

interface Read {
  settings: z.output<typeof queryShape>;
  raws: readonly unknown[];
}

function readDocument(body: string): Read {
  const document = parsed(body);
  if (document instanceof NotJson)
    throw new BatchFaults([{ parameter: 'body', problem: 'is not valid JSON' }]);
  const { items, params, split, ...settings } = parseAs(bodyShape, document);
  if (items && (params || split))
    throw new BatchFaults([
      { parameter: 'items', problem: 'and split exclude each other: send one of them' },
    ]);
  if (items) return { settings, raws: items };
  if (!split) {
    const problem = 'is required: send a list of parameter objects, or params and split';
    throw new BatchFaults([{ parameter: 'items', problem }]);
  }
  const [[name, values] = ['', []], ...others] = Object.entries(split);
  if (others.length > 0 || name === '')
    throw new BatchFaults([{ parameter: 'split', problem: 'must hold exactly one list' }]);
  if (params && name in params) {
    const problem = `holds ${quoted(name)}, which split gives each item a value of`;
    throw new BatchFaults([{ parameter: 'params', problem }]);
  }
  return { settings, raws: values.map((value) => ({ ...params, [name]: value })) };
}

/** Empty lines are no items, so a file may end with one. */
function readLines({ body, query }: Extract<Upload, { type: 'ndjson' }>): Read {
  const settings = parseAs(queryShape, query);
  const raws: unknown[] = [];
  let line = 0;
  for (const written of body.split('\n')) {
    line += 1;
    if (written.trim() === '') continue;
    const raw = parsed(written);
    raws.push(raw instanceof NotJson ? new NotJson(line) : raw);
  }
  return { settings, raws };
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
