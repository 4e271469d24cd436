import { errorBody } from '../../envelope.ts';
import { ERRORS, type SoukError } from '../../errors.ts';
import { hasLargeInteger, parseJson, stringifyJson } from '../../json.ts';
import { INLINE_LIMIT_BYTES } from '../../results/answer.ts';
import { outlineOf } from '../../results/outline.ts';
import { type GatewayAnswer, readAtMost } from './gateway-requests.ts';
import type { ContentBlock, ListedResource, ToolResult } from './protocol.ts';

/** Bytes of JSON that make a token, about. */
const BYTES_PER_TOKEN = 4;

/** How much is shown of what nothing is known about. */
const PREVIEW_BYTES = 2_000;

/** What a result says about its call, beside the data. */
export interface CallSummary {
  unitsConsumed: number;
  cache?: string;
  jobId?: string;
  deduplicated?: true;
}

export interface ResultContext {
  budgetTokens: number;
  /** Parameters with which less is asked for. */
  narrowing: readonly string[];
  call: CallSummary;
  /** Where the whole of it can be read. */
  resource: string | null;
  /** The outline that was kept of an answer no gateway parses. */
  findOutline(): Promise<string | null>;
}

/** The largest answer, in bytes, that is passed on as it is. */
export function budgetBytes(tokens: number): number {
  return Math.min(tokens * BYTES_PER_TOKEN, INLINE_LIMIT_BYTES);
}

/** An answer of the gateway as a tool's result: the data, or what they hold in short and where the whole of them is. */
export async function resultOf(answer: GatewayAnswer, context: ResultContext): Promise<ToolResult> {
  const type = answer.header('content-type') ?? '';
  if (type.startsWith('image/')) return pictureResult(answer, type, context);
  const limit = type.startsWith('application/json') ? INLINE_LIMIT_BYTES : budgetBytes(context.budgetTokens);
  // What is larger is not read at all, where that is known before.
  const isTooLarge = answer.size !== null && answer.size > limit;
  const { bytes, isWhole } = await readAtMost(answer, isTooLarge ? PREVIEW_BYTES : limit);
  if (!isWhole) return largeResult(answer, bytes, context);
  if (answer.status >= 400) return errorResult(bytes, answer);
  if (type.startsWith('application/json')) return dataResult(bytes, context);
  const text = bytes.toString('utf8');
  if (!type.startsWith('application/x-ndjson')) return structured({ text, _call: context.call });
  const lines = text.split('\n').filter((line) => line !== '');
  const finished = answer.header('x-batch-finished') === 'true';
  return structured({ results: lines.map(parseJson), finished, _call: context.call });
}

function dataResult(bytes: Buffer, context: ResultContext): ToolResult {
  const { data, metadata } = parseJson(bytes.toString('utf8')) as {
    data: Record<string, unknown>;
    metadata?: unknown;
  };
  if (bytes.length > budgetBytes(context.budgetTokens))
    return outlined(JSON.parse(outlineOf(data)), bytes.length, context);
  return structured({ ...data, ...(metadata ? { _metadata: metadata } : {}), _call: context.call });
}

async function largeResult(
  { size }: GatewayAnswer,
  beginning: Buffer,
  context: ResultContext,
): Promise<ToolResult> {
  const outline = await context.findOutline();
  if (outline !== null) return outlined(JSON.parse(outline), size, context);
  const preview = beginning.subarray(0, PREVIEW_BYTES).toString('utf8');
  return outlined({ beginning: preview }, size, context);
}

/** What an answer beyond the budget holds, where the whole of it is, and how to ask for less. */
function outlined(outline: unknown, bytes: number | null, context: ResultContext): ToolResult {
  const { narrowing, resource, budgetTokens, call } = context;
  const tokens = bytes === null ? null : Math.ceil(bytes / BYTES_PER_TOKEN);
  const less =
    narrowing.length > 0 ? `Ask for less with ${narrowing.join(', ')}` : 'Ask for fewer things at once';
  const whole = resource ? `, or read ${resource} in slices` : '';
  const value = {
    outline,
    size: { bytes, tokens },
    hint: `The answer is larger than ${budgetTokens} tokens, so this is its outline. ${less}${whole}.`,
    ...(resource ? { resource } : {}),
    _call: call,
  };
  const link: ListedResource | null = resource === null ? null : linkTo(resource, bytes, 'application/json');
  return structured(value, link ? [{ type: 'resource_link', ...link }] : []);
}

async function pictureResult(
  answer: GatewayAnswer,
  mimeType: string,
  { call, resource }: ResultContext,
): Promise<ToolResult> {
  const { bytes, isWhole } = await readAtMost(answer, INLINE_LIMIT_BYTES);
  const facts = { size: { bytes: answer.size ?? bytes.length }, _call: call };
  if (isWhole) return structured(facts, [{ type: 'image', data: bytes.toString('base64'), mimeType }]);
  const hint = 'The picture is too large to be shown: ask for a smaller one, or follow the link.';
  const link: ContentBlock[] = resource
    ? [{ type: 'resource_link', ...linkTo(resource, answer.size, mimeType) }]
    : [];
  return structured({ ...facts, hint }, link);
}

/** What went wrong, as the gateway has said it. */
function errorResult(bytes: Buffer, answer: Pick<GatewayAnswer, 'status' | 'header'>): ToolResult {
  const { code, msg, metadata } = JSON.parse(bytes.toString('utf8')) as Record<string, unknown>;
  const retryAfter = answer.header('retry-after');
  const jobId = answer.header('x-job-id');
  const error = {
    code,
    message: msg,
    status: answer.status,
    ...(metadata ? { metadata } : {}),
    ...(retryAfter ? { retryAfterSeconds: Number(retryAfter) } : {}),
    ...(jobId ? { jobId } : {}),
  };
  return { ...structured({ error }), isError: true };
}

/** The same for what never became a request. */
export function refusalResult(error: SoukError): ToolResult {
  const { status } = ERRORS[error.kind];
  return errorResult(Buffer.from(errorBody(error)), { status, header: () => undefined });
}

/** A value as structure and as text; the text has all digits of ids beyond 2^53, which the structure cannot have. */
export function structured(
  value: Record<string, unknown>,
  others: readonly ContentBlock[] = [],
): ToolResult & { structuredContent: Record<string, unknown> } {
  const text = stringifyJson(value);
  const exact = hasLargeInteger(text);
  return {
    content: [{ type: 'text', text }, ...others],
    structuredContent: exact ? (JSON.parse(text) as Record<string, unknown>) : value,
  };
}

function linkTo(uri: string, size: number | null, mimeType: string): ListedResource {
  return { uri, name: 'The whole answer', mimeType, ...(size === null ? {} : { size }) };
}
