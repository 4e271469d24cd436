import type { z } from 'zod';

/** A setting is missing or wrong. The message is a sentence for the operator that names it. */
export class ConfigError extends Error {}

/** Reads settings from environment variables; an empty value counts as absent. @throws ConfigError naming every bad one. */
export function parseSettings<Settings>(schema: z.ZodType<Settings>, env: NodeJS.ProcessEnv): Settings {
  const given = Object.fromEntries(
    Object.entries(env).filter(([, value]) => value !== undefined && value.trim() !== ''),
  );
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  // Of a list each bad item is an issue of its own.
  const faults = new Set(result.error.issues.map((issue) => `${String(issue.path[0])} ${issue.message}`));
  throw new ConfigError(`Bad setting: ${[...faults].join('; ')}.`);
}
