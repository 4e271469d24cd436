import { z } from 'zod';
import type { Scope } from '../../accounts/key-settings.ts';
import type { Operation } from '../../operations/define.ts';
import type { JsonSchema } from '../../operations/params/request.ts';
import { boolean } from '../../operations/params/scalars.ts';
import type { Toolset } from '../../operations/toolsets.ts';
import { parseAs } from '../operations/call-options.ts';

/** A tool: a description for agents, and the conversion of its calls to requests to our addresses. */
export interface Tool {
  toolset: Toolset;
  /** A key needs one of these scopes. */
  scopes: readonly Scope[];
  /** What it does, in one or two sentences. */
  summary: string;
  /** Its price in units, in words. */
  price: string;
  listed: ListedTool;
  /** The operation that it runs; null: it calls an endpoint. */
  operation: Operation | null;
  /** Whether its calls are jobs, which may take longer than a caller waits. */
  isJob: boolean;
  /** The resource whose progress it reports, if its caller requests progress. */
  follows: 'job' | 'batch' | null;
  /** Whether it accepts the arguments of a part (`parts.ts`). */
  hasParts?: true;
  /** Parameters that make the answer smaller. */
  narrowing: readonly string[];
  /** @throws SoukError VALIDATION_FAILED naming every unknown argument. */
  requestOf(args: Arguments): ToolRequest;
  /** How dryRun and maxUnits are applied: by the address itself, not at all because the call is free, or by a quote. */
  pricedBy: 'address' | 'free' | Quote;
}

interface Quote {
  requestOf(args: Arguments): ToolRequest;
  /** The most it can cost. */
  unitsOf(data: Record<string, unknown>): number;
}

export type Arguments = Readonly<Record<string, unknown>>;

/** A tool as `tools/list` shows it. */
export interface ListedTool {
  name: string;
  description: string;
  inputSchema: ObjectSchema;
  annotations: ToolAnnotations;
  /** Facts for programs, which agents do not read. */
  _meta?: Record<string, unknown>;
}

export type ObjectSchema = JsonSchema & { type: 'object' };

interface ToolAnnotations {
  /** Its name for people. */
  title: string;
  readOnlyHint: boolean;
  destructiveHint: boolean;
  openWorldHint: boolean;
  /** Only for tools that change something. */
  idempotentHint?: boolean;
}

/** Returns the name for people: `Get product` of `market_get_product`. */
export function titleOf(name: string, group = /^(?:web_trends|market|retail|aba)_/): string {
  const words = name.replace(group, '').replaceAll('_', ' ');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

export interface ToolRequest {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path and query, without the key. */
  url: string;
  /** A JSON text. */
  body?: string;
  /** The parameters of the operation, as its contract parses them. */
  parameters?: Arguments;
}

/** Parameters of every tool. */
export const OPTIONS: Record<string, JsonSchema> = {
  maxUnits: { type: 'integer', description: 'Refuse if dearer' },
  dryRun: { type: 'boolean', description: 'Price only' },
};

export const OPTION_NAMES: ReadonlySet<string> = new Set(Object.keys(OPTIONS));

const decodeSchema = z.object({ decode: boolean().default(true) });

/** Returns whether an answer is shown in common units and compactly. @throws SoukError VALIDATION_FAILED. */
export function isDecoded({ decode }: Arguments): boolean {
  return parseAs(decodeSchema, { decode: decode ?? undefined }).decode;
}
