import type { JsonSchema } from '../../operations/params/documentation.ts';
import type { Toolset } from '../../operations/toolsets.ts';

/** A tool: a description for agents, and how a call of it becomes a request to one of our addresses. */
export interface Tool {
  toolset: Toolset;
  listed: ListedTool;
  /** Whether its work is a job, which may take longer than a caller waits. */
  isJob: boolean;
  /** What it tells of when its progress is wanted. */
  follows: 'job' | 'batch' | null;
  /** Parameters with which less is asked for. */
  narrowing: readonly string[];
  /** @throws SoukError VALIDATION_FAILED naming every argument that there is not. */
  requestOf(args: Arguments): ToolRequest;
  /** Who heeds dryRun and maxUnits: the address itself, nobody where it costs nothing, or whoever knows the price. */
  pricedBy: 'address' | 'nobody' | Quote;
}

export interface Quote {
  requestOf(args: Arguments): ToolRequest;
  /** The most it can cost. */
  unitsOf(data: Record<string, unknown>): number;
}

export type Arguments = Readonly<Record<string, unknown>>;

/** What `tools/list` shows. */
export interface ListedTool {
  name: string;
  description: string;
  inputSchema: ObjectSchema;
  outputSchema?: ObjectSchema;
  annotations: ToolAnnotations;
}

export type ObjectSchema = JsonSchema & { type: 'object' };

export interface ToolAnnotations {
  readOnlyHint: boolean;
  idempotentHint: boolean;
  openWorldHint: boolean;
  destructiveHint?: boolean;
}

export interface ToolRequest {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path and query, without the key. */
  url: string;
  /** A JSON text. */
  body?: string;
}
