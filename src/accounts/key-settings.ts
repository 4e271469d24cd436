import { z } from 'zod';
import { exactObject } from '../operations/params/request.ts';
import { integer, listProblem, oneOf, text } from '../operations/params/scalars.ts';
import { DAY_MS } from '../platform/durations.ts';
import { invalidParameters, type ParameterFault, SoukError } from '../platform/errors.ts';
import { areInNetworks, networksOf, normalNetwork } from './networks.ts';

/** Groups of operations, which are also toolsets. A key with one of them may make these calls and read their jobs. */
export const OPERATION_SCOPES = [
  'products',
  'categories',
  'sellers',
  'deals',
  'visuals',
  'aba',
  'trends',
  'research',
] as const;

/** What a key may be allowed to do. `read` is everything that charges nothing and changes nothing. */
export const SCOPES = [
  'read',
  ...OPERATION_SCOPES,
  'batches',
  'schedules',
  'trackers',
  'webhooks',
  'keys',
] as const;

export type Scope = (typeof SCOPES)[number];

/** The scopes of a key; null: all but `keys`. */
export type KeyScopes = readonly Scope[] | null;

export const SCOPE_TEXTS: Readonly<Record<Scope, string>> = {
  read: 'Read jobs, batches, schedules, trackers, webhooks, usage and the ledger',
  products: 'Products, searches and the product finder',
  categories: 'Categories and best sellers',
  sellers: 'Sellers',
  deals: 'Deals',
  visuals: 'Charts and pictures',
  aba: 'Search terms of Brand Analytics',
  trends: 'Search trends',
  research: 'Research: joined answers about keywords and products',
  batches: 'Create, cancel and read batches',
  schedules: 'Create, change and read schedules',
  trackers: 'Create, change and read trackers',
  webhooks: 'Change the signing secret, test and replay webhooks',
  keys: 'Create, change and revoke API keys',
};

/** Scopes of what runs without a person. */
export const AUTOMATION_SCOPES = ['batches', 'schedules', 'trackers'] as const;

/** What calls of a scope look up, in words. */
const SUBJECTS: Readonly<Record<(typeof OPERATION_SCOPES)[number], string>> = {
  products: 'products',
  categories: 'categories',
  sellers: 'sellers',
  deals: 'deals',
  visuals: 'charts and pictures',
  aba: 'Brand Analytics',
  trends: 'search trends',
  research: 'joined answers',
};

/** Returns what scopes allow, in words: "read data; look up products and deals; create batches". */
export function scopesInWords(scopes: KeyScopes): string {
  const allowed = scopes ?? SCOPES.filter((scope) => scope !== 'keys');
  const subjects = OPERATION_SCOPES.filter((scope) => allowed.includes(scope));
  const isAll = subjects.length === OPERATION_SCOPES.length;
  const automation = AUTOMATION_SCOPES.filter((scope) => allowed.includes(scope));
  return [
    allowed.includes('read') && 'read data',
    subjects.length > 0 && `look up ${isAll ? 'data' : listInWords(subjects.map((one) => SUBJECTS[one]))}`,
    automation.length > 0 && `create ${listInWords(automation)}`,
    allowed.includes('webhooks') && 'change webhook settings',
    allowed.includes('keys') && 'manage keys',
  ]
    .filter(Boolean)
    .join('; ');
}

/** a, b and c */
export function listInWords(words: readonly string[]): string {
  const last = words.at(-1) ?? '';
  return words.length > 1 ? `${words.slice(0, -1).join(', ')} and ${last}` : last;
}

/** Returns whether a key has one of some scopes. An empty list requires none. */
export function isInScope(scopes: KeyScopes, anyOf: readonly Scope[]): boolean {
  return anyOf.length === 0 || anyOf.some((scope) => (scopes ? scopes.includes(scope) : scope !== 'keys'));
}

/** Returns whether a key with the scopes `own` has every one of these. */
function areWithin(scopes: KeyScopes, own: KeyScopes): boolean {
  return (scopes ?? SCOPES.filter((scope) => scope !== 'keys')).every((scope) => isInScope(own, [scope]));
}

/** Returns a text as the scope of that name. */
export function scopeNamed(name: string): Scope {
  const scope = SCOPES.find((one) => one === name);
  if (scope) return scope;
  throw new Error(`${name} is not a scope`);
}

/** @throws SoukError KEY_SCOPE_MISSING. */
export function requireScope(scopes: KeyScopes, anyOf: readonly Scope[]): void {
  if (!isInScope(scopes, anyOf)) throw scopeMissing(anyOf);
}

export function scopeMissing(anyOf: readonly Scope[]): SoukError {
  const named = anyOf.length === 1 ? `the scope ${anyOf[0]}` : `one of the scopes ${anyOf.join(', ')}`;
  return new SoukError('KEY_SCOPE_MISSING', {
    message: `This API key lacks ${named}.`,
    metadata: { requiredScopes: anyOf },
  });
}

/**
 * Requires that a key gives another one only rights that it has itself. Caps are not compared, because a key that manages keys
 * has none. @throws SoukError KEY_RIGHTS_EXCEEDED that names the setting.
 */
export function requireWithin(settings: KeySettings, own: KeySettings): void {
  const { scopes, expiresAt, networks } = settings;
  if (!areWithin(scopes, own.scopes))
    throw exceeded('scopes', `must be among those of the key itself: ${own.scopes?.join(', ')}`);
  if (own.expiresAt && (expiresAt?.getTime() ?? Number.POSITIVE_INFINITY) > own.expiresAt.getTime())
    throw exceeded(
      'expiresAt',
      `must not be later than that of the key itself, ${own.expiresAt.toISOString()}`,
    );
  if (own.networks && !(networks && areInNetworks(networksOf(networks), networksOf(own.networks))))
    throw exceeded('networks', `must be parts of those of the key itself: ${own.networks.join(', ')}`);
}

function exceeded(parameter: string, problem: string): SoukError {
  return new SoukError('KEY_RIGHTS_EXCEEDED', {
    message: `${parameter}: ${problem}`,
    metadata: { errors: [{ parameter, problem }] },
  });
}

const MOST_NETWORKS = 50;
const MOST_UNITS = 1_000_000_000_000;

/** The name of a key, and what it may do. null: without this limit. */
export interface KeySettings {
  name: string | null;
  scopes: readonly Scope[] | null;
  /** Units of a day and of a month, by the UTC calendar. */
  capDay: number | null;
  capMonth: number | null;
  /** From this time on the key does not work. */
  expiresAt: Date | null;
  /** In CIDR notation. */
  networks: readonly string[] | null;
}

export const WITHOUT_LIMITS: KeySettings = {
  name: null,
  scopes: null,
  capDay: null,
  capMonth: null,
  expiresAt: null,
  networks: null,
};

const units = () => integer({ min: 1, max: MOST_UNITS });

const network = z
  .string('must be a network such as 203.0.113.0/24')
  .max(64, 'must have at most 64 characters')
  .refine((sent) => normalNetwork(sent) !== null, 'must be an address or a network such as 203.0.113.0/24')
  .meta({ pattern: '^[0-9A-Fa-f:.]+(?:/[0-9]{1,3})?$', examples: ['203.0.113.0/24'] });

/** Settings as customers send them. An absent field of a change leaves the setting as it is. */
export const keySettingsSchema = exactObject({
  name: text({ maxLength: 60 }).nullable().optional().describe('Name in lists'),
  scopes: z
    .array(oneOf(SCOPES), listProblem('must be a list of scopes'))
    .min(1, listProblem('must have at least one scope'))
    .max(SCOPES.length, listProblem(`must have at most ${SCOPES.length} scopes`))
    .nullable()
    .optional()
    .describe('What the key may do; null: everything but managing keys'),
  capDay: units().nullable().optional().describe('Units that the key may use in a day (UTC)'),
  capMonth: units().nullable().optional().describe('Units that the key may use in a month (UTC)'),
  expiresAt: z.iso
    .datetime({ offset: true, error: 'must be a time such as 2027-01-31T00:00:00Z' })
    .meta({ maxLength: 40 })
    .nullable()
    .optional()
    .describe('When the key stops working'),
  networks: z
    .array(network, listProblem('must be a list of networks'))
    .min(1, listProblem('must have at least one network'))
    .max(MOST_NETWORKS, listProblem(`must have at most ${MOST_NETWORKS} networks`))
    .nullable()
    .optional()
    .describe('Addresses or networks in CIDR notation from which the key may be used'),
});

/** Changes settings. @throws SoukError VALIDATION_FAILED. */
export function changedSettings(
  present: KeySettings,
  sent: z.output<typeof keySettingsSchema>,
  now: number,
): KeySettings {
  const { expiresAt, networks, scopes, name, capDay, capMonth } = sent;
  const given = <Value>(value: Value | undefined, other: Value) => (value === undefined ? other : value);
  const settings: KeySettings = {
    name: given(name, present.name),
    scopes: scopes ? SCOPES.filter((scope) => scopes.includes(scope)) : given(scopes, present.scopes),
    capDay: given(capDay, present.capDay),
    capMonth: given(capMonth, present.capMonth),
    expiresAt: expiresAt ? new Date(expiresAt) : expiresAt === null ? null : present.expiresAt,
    networks: networks
      ? [...new Set(networks.flatMap((text) => normalNetwork(text) ?? []))]
      : given(networks, present.networks),
  };
  const faults = faultsOf(settings, expiresAt ? now : null);
  if (faults.length > 0) throw invalidParameters(faults);
  return settings;
}

/** @param now null: the time of expiry is not new. */
function faultsOf(
  { scopes, capDay, capMonth, expiresAt }: KeySettings,
  now: number | null,
): ParameterFault[] {
  const faults: ParameterFault[] = [];
  if (now !== null && expiresAt && expiresAt.getTime() <= now)
    faults.push({ parameter: 'expiresAt', problem: `must be in the future, got ${expiresAt.toISOString()}` });
  if (scopes?.includes('keys') && (capDay !== null || capMonth !== null))
    faults.push({
      parameter: 'scopes',
      problem: 'must not have keys with a cap: the key could use more units by the keys that it creates',
    });
  return faults;
}

/** A connection ends at most this time after it was created. */
export const LONGEST_CONNECTION_DAYS = 366;

/** Returns the faults of the settings of a connection: it never manages keys, and always has caps and an end. */
export function connectionFaults(
  { scopes, capDay, capMonth, expiresAt }: KeySettings,
  createdAt: Date,
): ParameterFault[] {
  const latest = new Date(createdAt.getTime() + LONGEST_CONNECTION_DAYS * DAY_MS);
  const faults: ParameterFault[] = [];
  const refuse = (parameter: keyof KeySettings, problem: string) => faults.push({ parameter, problem });
  if (scopes === null) refuse('scopes', 'must not be null for a connection');
  if (scopes?.includes('keys')) refuse('scopes', 'must not have keys for a connection');
  if (capDay === null) refuse('capDay', 'must not be null for a connection');
  if (capMonth === null) refuse('capMonth', 'must not be null for a connection');
  if (capDay !== null && capMonth !== null && capDay > capMonth)
    refuse('capDay', `must not be more than the ${capMonth} units of a month, got ${capDay}`);
  if (expiresAt === null || expiresAt.getTime() > latest.getTime())
    refuse(
      'expiresAt',
      `must be at most ${LONGEST_CONNECTION_DAYS} days after the connection was created: not later than ${latest.toISOString()}`,
    );
  return faults;
}

/** Settings of a key as text, from a form or a command. Lists are separated by commas or spaces. Empty: without this limit. */
type KeySettingsText = Partial<Record<keyof KeySettings, string>>;

/**
 * Reads settings from text. An absent field leaves the setting as it is.
 * @returns the settings, or the first fault of each field.
 */
export function readKeySettings(
  present: KeySettings,
  text: KeySettingsText,
  now: number,
): { settings: KeySettings } | { faults: Partial<Record<string, string>> } {
  const sent = Object.fromEntries(
    Object.entries(text).map(([name, value]) => [name, sentValue(name as keyof KeySettings, value.trim())]),
  );
  const parsed = keySettingsSchema.safeParse(sent);
  if (!parsed.success)
    return { faults: firstOf(parsed.error.issues.map(({ path, message }) => [String(path[0]), message])) };
  try {
    return { settings: changedSettings(present, parsed.data, now) };
  } catch (error) {
    if (!(error instanceof SoukError) || error.kind !== 'VALIDATION_FAILED') throw error;
    const { errors } = error.metadata as { errors: { parameter: string; problem: string }[] };
    return { faults: firstOf(errors.map(({ parameter, problem }) => [parameter, problem])) };
  }
}

/** Returns settings as text that can be read again. */
export function textOfSettings(settings: KeySettings): Required<KeySettingsText> {
  const { name, scopes, capDay, capMonth, expiresAt, networks } = settings;
  return {
    name: name ?? '',
    scopes: scopes?.join(', ') ?? '',
    capDay: capDay?.toString() ?? '',
    capMonth: capMonth?.toString() ?? '',
    expiresAt: expiresAt?.toISOString() ?? '',
    networks: networks?.join(', ') ?? '',
  };
}

function sentValue(name: keyof KeySettings, text: string): unknown {
  if (text === '') return null;
  if (name === 'scopes' || name === 'networks') return text.split(/[\s,]+/).filter(Boolean);
  if (name === 'expiresAt' && /^\d{4}-\d{2}-\d{2}$/.test(text)) return `${text}T00:00:00Z`;
  return text;
}

function firstOf(faults: readonly (readonly [string, string])[]): Partial<Record<string, string>> {
  return Object.fromEntries(faults.toReversed());
}
