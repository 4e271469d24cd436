import { z } from 'zod';

// The rules for `server.json` of a server with remote addresses only: those of the schema
// https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json, and those that the MCP registry adds
// (https://github.com/modelcontextprotocol/registry, internal/validators). Unknown fields are refused, to find misspelt ones.

const SCHEMA = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json';

const input = z.strictObject({
  description: z.string().optional(),
  isRequired: z.boolean().optional(),
  isSecret: z.boolean().optional(),
  format: z.enum(['string', 'number', 'boolean', 'filepath']).optional(),
  value: z.string().optional(),
  default: z.string().optional(),
  placeholder: z.string().optional(),
  choices: z.array(z.string()).optional(),
});

/** A loopback or private host of a URL whose variables have been replaced. */
const NOT_PUBLIC = /^(?:localhost|.*\.localhost|127\..*|10\..*|192\.168\..*|0\.0\.0\.0|\[.*\])$/i;

const remote = z
  .strictObject({
    type: z.enum(['streamable-http', 'sse']),
    url: z.string().regex(/^https?:\/\/\S+$/),
    headers: z
      .array(input.extend({ name: z.string(), variables: z.record(z.string(), input).optional() }))
      .optional(),
    variables: z.record(z.string(), input).optional(),
  })
  .refine(({ url, variables = {} }) => variablesIn(url).every((name) => name in variables), {
    path: ['url'],
    error: 'has a variable that is not in variables',
  })
  .refine(({ url }) => isPublic(url.replace(/\{[^}]+\}/g, 'placeholder')), {
    path: ['url'],
    error: 'must be https and public',
  });

export const serverJson = z.strictObject({
  $schema: z.literal(SCHEMA),
  name: z
    .string()
    .min(3)
    .max(200)
    .regex(/^[a-zA-Z0-9][a-zA-Z0-9.-]*[a-zA-Z0-9]\/[a-zA-Z0-9][a-zA-Z0-9._-]*[a-zA-Z0-9]$/),
  title: z.string().trim().min(1).max(100).optional(),
  description: z.string().min(1).max(100),
  version: z
    .string()
    .max(255)
    .regex(/^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/, 'must be one version, not a range'),
  websiteUrl: z.url({ protocol: /^https$/ }).optional(),
  remotes: z.array(remote).min(1),
});

/** Returns the names of the variables of an address: `host` of `https://{host}/mcp`. */
export function variablesIn(url: string): string[] {
  return [...url.matchAll(/\{([^}]+)\}/g)].map(([, name = '']) => name);
}

function isPublic(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === 'https:' && !NOT_PUBLIC.test(hostname);
}
