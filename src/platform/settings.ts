import type { z } from 'zod';

/** A setting is missing or invalid. The message names it, in a sentence for the operator. */
export class ConfigError extends Error {}

/** Reads settings from environment variables; empty values count as absent. @throws ConfigError naming all invalid ones. */
export function parseSettings<Settings>(schema: z.ZodType<Settings>, env: NodeJS.ProcessEnv): Settings {
  const given = Object.fromEntries(
    Object.entries(env).filter(([, value]) => value !== undefined && value.trim() !== ''),
  );
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  // A list has one issue for each invalid item.
  const faults = new Set(
    result.error.issues.map(({ path, message }) => {
      const [name, key] = path;
      return `${typeof key === 'string' ? `${String(name)}: ${key}` : String(name)} ${message}`;
    }),
  );
  throw new ConfigError(`Bad setting: ${[...faults].join('; ')}.`.replace('?.', '?'));
}
