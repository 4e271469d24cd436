import { z } from 'zod';
import { parseSettings } from '../src/platform/settings.ts';

const rate = z.coerce.number().min(0).max(1).default(0);

/** Settings of the demo provider, from environment variables. */
const schema = z.object({
  DEMO_PORT: z.coerce.number().int().min(0).max(65_535).default(0).describe('Port; 0 selects a free one'),
  DEMO_TOKENS_PER_MINUTE: z.coerce
    .number()
    .int()
    .min(1)
    .default(600)
    .describe('Refill rate of the token bucket, which holds 60 times as many'),
  DEMO_LATENCY_MS: z.coerce
    .number()
    .int()
    .min(0)
    .default(0)
    .describe('Delay of every answer, in milliseconds'),
  DEMO_FAIL_RATE: rate.describe('Share of calls answered with HTTP 500'),
  DEMO_ERROR_BODY_RATE: rate.describe('Share of calls answered with HTTP 200 and an error in the body'),
  DEMO_TRUNCATE_RATE: rate.describe('Share of calls whose answer is truncated'),
  DEMO_MALFORMED_RATE: rate.describe('Share of calls answered with a web page instead of JSON or a picture'),
  DEMO_LIGHTNING_DEALS: z.coerce
    .number()
    .int()
    .min(0)
    .default(30_000)
    .describe("Length of a site's lightning-deal list"),
});

export type DemoSettings = z.output<typeof schema>;

/** @throws ConfigError naming every invalid setting. */
export function readDemoSettings(env: NodeJS.ProcessEnv): DemoSettings {
  return parseSettings(schema, env);
}
