import type { Scope } from '../../accounts/key-settings.ts';
import type { JsonSchema } from '../../operations/params/request.ts';
import type { Toolset } from '../../operations/toolsets.ts';

/** A tool: a description for agents, and the conversion of its calls to requests to our addresses. */
export interface Tool {
  toolset: Toolset;
  /** A key needs one of these scopes. */
  scopes: readonly Scope[];
  listed: ListedTool;
  /** Whether its calls are jobs, which may take longer than a caller waits. */
  isJob: boolean;
  /** The resource whose progress it reports, if its caller requests progress. */
  follows: 'job' | 'batch' | null;
  /** Whether it accepts the arguments of a part (`parts.ts`). */
  hasParts?: true;
  /** Whether a call returns decoded histories, which become compact series (`compact-series.ts`). */
  hasSeries(args: Arguments): boolean;
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
  /** Its name for people. */
  title: string;
  description: string;
  inputSchema: ObjectSchema;
  outputSchema?: ObjectSchema;
  annotations: ToolAnnotations;
  /** Facts for programs, which agents do not read. */
  _meta?: Record<string, unknown>;
}

export type ObjectSchema = JsonSchema & { type: 'object' };

interface ToolAnnotations {
  readOnlyHint: boolean;
  openWorldHint: boolean;
  /** Only for tools that change something. */
  idempotentHint?: boolean;
  /** Only for tools that change something. */
  destructiveHint?: boolean;
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
}
