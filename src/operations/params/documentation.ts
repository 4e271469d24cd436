import { z } from 'zod';

/** A JSON Schema of the draft 2020-12, the dialect of OpenAPI 3.1. */
export type JsonSchema = z.core.JSONSchema.BaseSchema;

/** How a parameter is documented whose schema does not say it: one that is read from a group of names. */
export interface GroupDocumentation {
  description: string;
  required: boolean;
  /** Of the canonical value. It is sent as such under every name that is not among `forms`. */
  schema: JsonSchema;
  /** Names whose value looks otherwise, or that are for a query or a body only. */
  forms?: Readonly<Record<string, { schema: JsonSchema; description: string; only?: 'query' | 'body' }>>;
  /** What the parameter holds is sent beside the other parameters, not within an object of this name. */
  spread?: boolean;
}

/** What a field of `request` says of itself. Not zod's own registry: there, ids would change what others generate. */
export const GROUP_DOCUMENTATION = z.registry<GroupDocumentation>();

/** The groups of an object that `request` made. */
export const REQUEST_GROUPS = z.registry<Record<string, readonly string[]>>();
