import { z } from 'zod';

/** A JSON Schema, draft 2020-12, which is the dialect of OpenAPI 3.1. */
export type JsonSchema = z.core.JSONSchema.BaseSchema;

/** Documentation of a parameter that is read from a group of names, since its zod schema does not contain it. */
export interface GroupDocumentation {
  description: string;
  required: boolean;
  /** Another parameter, which a request may have instead of this required one. */
  unless?: string;
  /** Schema of the canonical value. It applies to every name that `forms` does not list. */
  schema: JsonSchema;
  /** Names whose value has another form, or that only a query or a body accepts. */
  forms?: Readonly<Record<string, { schema: JsonSchema; description: string; only?: 'query' | 'body' }>>;
  /** The fields of the parameter are sent beside the other parameters, not in an object of this name. */
  spread?: boolean;
}

/** Documentation of the fields of `request`. Separate from zod's global registry, whose ids affect other generators. */
export const GROUP_DOCUMENTATION = z.registry<GroupDocumentation>();

/** The schemas that together read the parameters of an operation; the first has its own parameters. */
export const PARAMETER_PARTS = new WeakMap<z.ZodType, readonly [z.ZodType, ...z.ZodType[]]>();

/** The groups of each object that `request` created. */
export const REQUEST_GROUPS = z.registry<Record<string, readonly string[]>>();
