/** Query parameters as sent. */
export type Params = Readonly<Record<string, string | undefined>>;

export interface EndpointRequest {
  params: Params;
  /** Parsed JSON of a POST. */
  body: unknown;
  /** Unix milliseconds. */
  now: number;
  /** Index time in minutes. */
  nowMinutes: number;
}

export type EndpointAnswer =
  | { payload: Record<string, unknown>; tokens: number }
  /** A very large JSON payload, already serialised, without its braces. */
  | { payloadText: string; tokens: number }
  | { picture: Buffer; tokens: number };

export type Endpoint = (request: EndpointRequest) => EndpointAnswer | Promise<EndpointAnswer>;

/** An error answer of the provider. */
export class ProviderError extends Error {
  readonly status: number;
  readonly type: string;

  constructor(status: number, type: string, message: string) {
    super(message);
    this.status = status;
    this.type = type;
  }
}

/** The provider does not name the invalid parameter. */
export function invalidParameter(): ProviderError {
  return new ProviderError(400, 'invalidParameter', 'You used an invalid parameter for this API call.');
}

/** The provider answers a parameter outside its range with 405. */
export function outOfRange(): ProviderError {
  return new ProviderError(405, 'parameterOutOfRange', 'A parameter is out of its allowed range.');
}

const DOMAINS = new Set(['1', '2', '3', '4', '5', '6', '8', '9', '10', '11', '12']);

export function domainOf(params: Params): number {
  const { domain } = params;
  if (domain === undefined || !DOMAINS.has(domain)) throw invalidParameter();
  return Number(domain);
}

/** Parses an integer; null if absent. */
export function integerOf(value: string | undefined, bounds: { min: number; max: number }): number | null {
  if (value === undefined) return null;
  if (!/^-?\d+$/.test(value)) throw invalidParameter();
  const number = Number(value);
  if (number < bounds.min || number > bounds.max) throw outOfRange();
  return number;
}

const LARGEST_CATEGORY = 2n ** 63n - 1n;

/**
 * Parses the id of a category. Like upstream's, ids may exceed 2^53; the demo has no such category, so the nearest number
 * is exact enough.
 */
export function categoryIdOf(value: string): number {
  if (!/^\d+$/.test(value)) throw invalidParameter();
  if (BigInt(value) > LARGEST_CATEGORY) throw outOfRange();
  return Number(value);
}

export function isOn(value: string | undefined): boolean {
  return value === '1' || value === 'true';
}

/** Returns a required parameter. */
export function required(value: string | undefined): string {
  if (value === undefined || value === '') throw invalidParameter();
  return value;
}

/** Returns the selection of a finder or deals call: the body of a POST, or the `selection` parameter. */
export function selectionOf({ params, body }: EndpointRequest): Record<string, unknown> {
  const selection: unknown = params.selection === undefined ? body : parse(params.selection);
  if (typeof selection !== 'object' || selection === null || Array.isArray(selection))
    throw invalidParameter();
  return selection as Record<string, unknown>;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalidParameter();
  }
}
