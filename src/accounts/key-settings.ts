import { z } from 'zod';
import { integer, listProblem, oneOf, text } from '../operations/params/scalars.ts';
import { invalidParameters, type ParameterFault } from '../platform/errors.ts';
import { normalNetwork } from './networks.ts';
import { SCOPES, type Scope } from './scopes.ts';

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
export const keySettingsSchema = z.strictObject(
  {
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
  },
  'must be a JSON object',
);

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
