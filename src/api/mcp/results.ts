import { isRecord } from '../../operations/params/request.ts';
import { ERRORS, type ParameterFault, type SoukError } from '../../platform/errors.ts';
import { parseJson, stringifyJson } from '../../platform/json.ts';
import { INLINE_LIMIT_BYTES } from '../../results/cache.ts';
import { errorBody } from '../../results/envelope.ts';
import { shortened } from '../../results/outline.ts';
import { type GatewayAnswer, readAtMost } from '../self-client.ts';
import { compactSeries, type SeriesLimits } from './compact-series.ts';
import {
  DIVISIBLE_BYTES,
  firstWithin,
  outlineWithin,
  PARSED_BYTES,
  type Part,
  type Records,
  takePart,
} from './parts.ts';
import type { ContentBlock, ToolResult } from './protocol.ts';
import { isTextType } from './resources.ts';
import { compactTables } from './tables.ts';
import { tokensIn } from './token-bound.ts';
import type { Arguments, Tool } from './tool.ts';

/** How much is shown of an answer without an outline. */
const PREVIEW_BYTES = 2_000;

/** What a result states about its call, in addition to the data. */
export interface CallSummary {
  unitsConsumed: number;
  cache?: string;
  jobId?: string;
  deduplicated?: true;
  /** false: the data is of the demo provider. */
  livemode?: false;
}

export interface ResultContext {
  budgetTokens: number;
  /** The tool that was called. */
  tool: Pick<Tool, 'price' | 'narrowing'> & { name: string };
  call: CallSummary;
  /** The resource that has the complete answer. */
  resource: string | null;
  /** The tool that returns parts of the answer, and its arguments besides the part; null if there is none. */
  partsFrom: { tool: string; arguments: Arguments } | null;
  /** The part of the answer to return; null: the whole answer. */
  part: Part | null;
  /** How to show the data; null: as the address returns it. */
  form: Form | null;
  /** Returns the outline that was stored with an answer that is too large for a gateway to parse. */
  findOutline(): Promise<string | null>;
  /** Keeps the answer for the lifetime of jobs, because the agent may follow the link to it. */
  keep(): Promise<void>;
}

/** The form of data for agents: common units, and few tokens. */
export interface Form {
  /** Converts the data of an operation to common units. */
  toolData: Records['toolData'] | null;
  /** The path of its records; null if it has none. */
  recordsPath: string | null;
  /** The points of histories to return. */
  series: SeriesLimits;
}

/** The fewest bytes of JSON in a token: lists of ids and times have as few. */
const BYTES_PER_TOKEN = 1.5;

/** Returns the bytes of a slice that has at most so many tokens. */
export function sliceBytes(tokens: number): number {
  return Math.floor(tokens * BYTES_PER_TOKEN);
}

/** Converts an answer of the gateway to a tool's result: the data, or an outline with a link to the complete answer. */
export async function resultOf(answer: GatewayAnswer, context: ResultContext): Promise<ToolResult> {
  if (answer.status >= 400) return errorResult(await errorIn(answer), answer);
  const type = answer.header('content-type') ?? '';
  if (type.startsWith('image/')) return pictureResult(answer, type, context);
  if (!isTextType(type)) return fileResult(answer, type, context);
  if (type.startsWith('application/x-ndjson')) return linesResult(answer, context);
  if (context.part && type.startsWith('application/json')) return partResult(answer, context.part, context);
  const limit = type.startsWith('application/json') ? readableBytes(context) : INLINE_LIMIT_BYTES;
  // An answer that is known to be too large is not read in full.
  const isTooLarge = answer.size !== null && answer.size > limit;
  const { bytes, isWhole } = await readAtMost(answer, isTooLarge ? PREVIEW_BYTES : limit);
  if (!isWhole) return largeResult(answer, bytes, context);
  if (type.startsWith('application/json')) return dataResult(bytes, context);
  const result = structured({ text: bytes.toString('utf8'), _call: context.call });
  return fits(result, context) ? result : largeResult(answer, bytes, context);
}

/** Returns the results of a batch, or the rows of a table: as many as fit, and the cursor of the next results. */
async function linesResult(answer: GatewayAnswer, context: ResultContext): Promise<ToolResult> {
  const { bytes, isWhole } = await readAtMost(answer, PARSED_BYTES);
  const lines = bytes.toString('utf8').split('\n');
  // Empty, unless the answer is cut within a line.
  const cut = lines.pop() ?? '';
  const about = { finished: answer.header('x-batch-finished') === 'true', _call: context.call };
  if (isWhole && bytes.length <= INLINE_LIMIT_BYTES) {
    const all = structured({ results: compactTables(lines.map(parseJson)), ...about, next: null });
    if (fits(all, context)) return all;
  }
  const shown = firstWithin(parsed(lines), context.budgetTokens - ABOUT_PART_TOKENS);
  if (isWhole && shown.length === lines.length)
    return structured({ results: compactTables(shown), ...about, next: null });
  const [first] = lines;
  const outline =
    first === undefined
      ? { beginning: cut.slice(0, PREVIEW_BYTES) }
      : outlineWithin(parseJson(first), context.budgetTokens);
  const next = indexIn(lines[Math.max(0, shown.length - 1)] ?? cut);
  const value = {
    results: compactTables(shown),
    ...(shown.length > 0 ? {} : { outline }),
    ...about,
    next,
    hint: moreLines(shown.length, next, context),
  };
  return structured(value, await linksTo(context, answer.size, 'application/x-ndjson'));
}

/** Says what follows the lines that are shown, and how to read it. */
function moreLines(
  shown: number,
  next: number | null,
  { budgetTokens, tool, resource }: ResultContext,
): string {
  const state =
    shown > 0
      ? 'There are more results.'
      : `The next result is larger than ${budgetTokens} tokens, so this is its outline.`;
  const paged = tool.narrowing.includes('cursor')
    ? 'Only results without table have a cursor'
    : 'Request fewer items';
  const onward = next === null ? paged : `Continue with cursor=${next}`;
  return `${state} ${onward}${resource ? `, or read ${resource} in slices` : ''}.`;
}

function* parsed(lines: readonly string[]): Generator<unknown> {
  for (const line of lines) yield parseJson(line);
}

/** Returns the index of the item of a line, which is the cursor of the next one; null for the row of a table. */
function indexIn(line: string): number | null {
  const [, index] = /^\{"index":(\d+),"params":/.exec(line) ?? [];
  return index === undefined ? null : Number(index);
}

function fits({ content: [first] }: ToolResult, { budgetTokens }: ResultContext): boolean {
  return first?.type !== 'text' || tokensIn(first.text) <= budgetTokens;
}

/** Returns the largest answer that is parsed. It is larger if the data become much shorter: some points of histories, or other units. */
function readableBytes({ form }: ResultContext): number {
  const isShortened =
    form && (form.toolData || Object.values(form.series).some((limit) => limit !== undefined));
  return isShortened ? PARSED_BYTES : INLINE_LIMIT_BYTES;
}

async function dataResult(bytes: Buffer, context: ResultContext): Promise<ToolResult> {
  const { data: whole, metadata } = parseJson(bytes.toString()) as {
    data: Record<string, unknown>;
    metadata?: unknown;
  };
  const { form } = context;
  const data = form ? await compactSeries(form.toolData?.(whole) ?? whole, form.series) : whole;
  const shown = (form ? compactTables(data) : data) as typeof whole;
  const result = structured({ ...shown, ...(metadata ? { _metadata: metadata } : {}), _call: context.call });
  return fits(result, context)
    ? result
    : outlined(outlineWithin(data, context.budgetTokens), bytes.length, context);
}

/** Returns a part of an answer. Parts of large answers are read one after the other, so that only one large answer is in memory. */
async function partResult(answer: GatewayAnswer, part: Part, context: ResultContext): Promise<ToolResult> {
  if (answer.size !== null && answer.size <= PARSED_BYTES) return takenPart(answer, part, context);
  const taken = lastLargePart.then(() => takenPart(answer, part, context));
  lastLargePart = taken.then(
    () => undefined,
    () => undefined,
  );
  return taken;
}

/** The end of the last part of a large answer. */
let lastLargePart: Promise<void> = Promise.resolve();

async function takenPart(answer: GatewayAnswer, part: Part, context: ResultContext): Promise<ToolResult> {
  const { bytes, isWhole } = await readAtMost(answer, DIVISIBLE_BYTES);
  if (!isWhole) return largeResult(answer, bytes, context);
  const { form, budgetTokens, call } = context;
  const isParsed = bytes.length <= PARSED_BYTES;
  const taken = await takePart(
    isParsed ? inForm(bytes, form) : bytes,
    { ...part, series: form?.series ?? null, records: isParsed ? null : recordsOf(form) },
    // The result has some fields in addition to the part.
    budgetTokens - ABOUT_PART_TOKENS,
  );
  return structured({ ...taken, _call: call });
}

const ABOUT_PART_TOKENS = 300;

/** Returns an answer whose data are in common units, so that its parts are those of the outline. */
function inForm(bytes: Buffer, form: Form | null): Buffer {
  if (!form?.toolData) return bytes;
  const { data } = parseJson(bytes.toString()) as { data: Record<string, unknown> };
  return Buffer.from(stringifyJson({ data: form.toolData(data) }));
}

function recordsOf(form: Form | null): Records | null {
  return form?.toolData && form.recordsPath !== null
    ? { path: form.recordsPath, toolData: form.toolData }
    : null;
}

async function largeResult(
  { size }: GatewayAnswer,
  beginning: Buffer,
  context: ResultContext,
): Promise<ToolResult> {
  const stored = await context.findOutline();
  if (stored !== null) {
    const outline = outlineWithin(parseJson(stored), context.budgetTokens);
    const records = recordsOf(context.form);
    if (!records) return outlined(outline, size, context);
    // Within a record, the outline can have other fields.
    const path = largestIn(outline)
      .split('.')
      .slice(0, records.path.split('.').length + 1)
      .join('.');
    return outlined(outline, size, context, { path, note: RAW });
  }
  const preview = beginning.subarray(0, PREVIEW_BYTES).toString('utf8');
  return outlined({ beginning: preview }, size, context, { path: '' });
}

/** What is said of an outline that the worker has stored, if parts are shown in another form. */
const RAW =
  'Its values can be raw (cents, stars x 10, index times, -1 without data), those of parts are not. ';

/**
 * Returns the outline of an answer beyond the budget, with the next step and its price, and the link to the complete answer.
 * @param about the part to read next, and what else to say.
 */
async function outlined(
  outline: unknown,
  bytes: number | null,
  context: ResultContext,
  { path = largestIn(outline), note = '' } = {},
): Promise<ToolResult> {
  const { tool, resource, budgetTokens, call } = context;
  const partsFrom = bytes === null || bytes <= DIVISIBLE_BYTES ? context.partsFrom : null;
  const less =
    tool.narrowing.length > 0 ? `request less with ${tool.narrowing.join(', ')}` : 'request fewer items';
  const cost = tool.price === '0' ? 'free' : `a new call, units: ${tool.price}`;
  const parts = partsFrom ? 'nextStep returns parts by path, offset and fields, free of charge. Or ' : '';
  const slices = resource ? `, or read ${resource} in slices` : '';
  const value = {
    outline,
    size: { bytes, tokens: bytes === null ? null : Math.ceil(bytes / BYTES_PER_TOKEN) },
    hint: `The answer is larger than ${budgetTokens} tokens, so this is an outline. ${note}${parts}${less} (${cost})${slices}.`,
    nextStep: partsFrom
      ? { tool: partsFrom.tool, arguments: { ...partsFrom.arguments, path }, units: 0 }
      : { tool: tool.name, change: tool.narrowing, units: tool.price },
    ...(resource ? { resource } : {}),
    _call: call,
  };
  return structured(value, await linksTo(context, bytes, 'application/json'));
}

/** Returns the path of the largest list or value of an outline. */
function largestIn(outline: unknown): string {
  const path: string[] = [];
  let value = outline;
  // A list with one entry is as large as this entry.
  while (isRecord(value) || (Array.isArray(value) && value.length === 1 && isRecord(value[0]))) {
    const sizes = Object.entries(value).map(([name, inner]) => [name, stringifyJson(inner).length] as const);
    const [name] = sizes.reduce((a, b) => (b[1] > a[1] ? b : a), ['', 0]);
    if (name === '') break;
    path.push(name);
    value = (value as Record<string, unknown>)[name];
  }
  return path.join('.');
}

async function pictureResult(
  answer: GatewayAnswer,
  mimeType: string,
  context: ResultContext,
): Promise<ToolResult> {
  const { bytes, isWhole } = await readAtMost(answer, INLINE_LIMIT_BYTES);
  const facts = { size: { bytes: answer.size ?? bytes.length }, _call: context.call };
  if (isWhole) return structured(facts, [{ type: 'image', data: bytes.toString('base64'), mimeType }]);
  const hint = 'The picture is too large to show: request a smaller one, or follow the link.';
  return structured({ ...facts, hint }, await linksTo(context, answer.size, mimeType));
}

async function fileResult(
  { body, size }: GatewayAnswer,
  mimeType: string,
  context: ResultContext,
): Promise<ToolResult> {
  body.destroy();
  const hint = 'The result is a file, which tools do not show: follow the link.';
  return structured(
    { size: { bytes: size }, hint, _call: context.call },
    await linksTo(context, size, mimeType),
  );
}

/** How much of an error is shown: a call may have hundreds of faults. */
const LONGEST_MESSAGE = 500;
const LONGEST_PROBLEM = 300;
const MOST_ERRORS = 10;
const LONGEST_METADATA = 8_000;

interface ErrorEnvelope {
  code: string;
  msg: string;
  metadata?: Record<string, unknown>;
}

/** Reads the error of an answer; of a very long one, the code and the beginning of the message. */
async function errorIn(answer: GatewayAnswer): Promise<ErrorEnvelope> {
  const { bytes, isWhole } = await readAtMost(answer, INLINE_LIMIT_BYTES);
  const text = bytes.toString('utf8');
  if (isWhole) return JSON.parse(text) as ErrorEnvelope;
  const [, code = '', msg = ''] = ENVELOPE_BEGINNING.exec(text) ?? [];
  return { code, msg: `${JSON.parse(`"${msg}"`)}...` };
}

const ENVELOPE_BEGINNING =
  /^\{(?:"livemode":false,)?"code":"(\w+)","msg":"((?:[^"\\]|\\u[0-9a-f]{4}|\\[^u]){0,500})/;

function errorResult(
  { code, msg, metadata }: ErrorEnvelope,
  answer: Pick<GatewayAnswer, 'status' | 'header'>,
): ToolResult {
  const retryAfter = answer.header('retry-after');
  const jobId = answer.header('x-job-id');
  const error = {
    // The finder's own code is for its addresses: invalid arguments of tools have one code.
    code: code === ERRORS.SELECTION_INVALID.code ? ERRORS.VALIDATION_FAILED.code : code,
    message: shortened(msg, LONGEST_MESSAGE),
    status: answer.status,
    ...(metadata ? { metadata: shortMetadata(metadata) } : {}),
    ...(retryAfter ? { retryAfterSeconds: Number(retryAfter) } : {}),
    ...(jobId ? { jobId } : {}),
  };
  return { ...structured({ error }), isError: true };
}

/** Returns the metadata of an error with its first faults, and nothing else if it is very long. */
function shortMetadata(metadata: Record<string, unknown>): Record<string, unknown> {
  const few = fewErrors(metadata.errors);
  const short = { ...metadata, ...few };
  return stringifyJson(short).length <= LONGEST_METADATA ? short : { ...few };
}

/** Returns the first faults; if there are more, also their number. */
function fewErrors(errors: unknown): { errors?: ParameterFault[]; errorCount?: number } {
  if (!Array.isArray(errors)) return {};
  const few = (errors as ParameterFault[]).slice(0, MOST_ERRORS).map(({ parameter, problem }) => ({
    parameter: shortened(parameter, LONGEST_PROBLEM),
    problem: shortened(problem, LONGEST_PROBLEM),
  }));
  return { errors: few, ...(errors.length > few.length ? { errorCount: errors.length } : {}) };
}

/** Converts an error that occurred before a request was sent. */
export function refusalResult(error: SoukError): ToolResult {
  const { status } = ERRORS[error.kind];
  const envelope = JSON.parse(errorBody(error)) as ErrorEnvelope;
  return errorResult(envelope, { status, header: () => undefined });
}

/** Returns a value as structure and as text. The text has all digits of ids beyond 2^53, which the structure cannot hold. */
export function structured(
  value: Record<string, unknown>,
  others: readonly ContentBlock[] = [],
): ToolResult & { structuredContent: Record<string, unknown> } {
  const text = stringifyJson(value);
  return {
    content: [{ type: 'text', text }, ...others],
    structuredContent: JSON.parse(text) as Record<string, unknown>,
  };
}

/** Returns a link to the complete answer and keeps the answer; empty if it has no resource. */
async function linksTo(
  { resource, keep }: ResultContext,
  size: number | null,
  mimeType: string,
): Promise<ContentBlock[]> {
  if (resource === null) return [];
  await keep();
  const name = 'The complete answer';
  return [{ type: 'resource_link', uri: resource, name, mimeType, ...(size === null ? {} : { size }) }];
}
