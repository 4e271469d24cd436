import { SoukError } from '../platform/errors.ts';
import { changedSettings, type KeySettings, keySettingsSchema } from './key-settings.ts';

/** Settings of a key as text, from a form or a command. Lists are separated by commas or spaces. Empty: without this limit. */
export type KeySettingsText = Partial<Record<keyof KeySettings, string>>;

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
