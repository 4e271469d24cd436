import type { JsonSchema } from '../../operations/params/documentation.ts';

/** The parts of OpenAPI 3.1 that the document uses. */

export interface Reference {
  $ref: string;
}

export interface ParameterObject {
  name: string;
  in: 'query' | 'path' | 'header';
  description: string;
  required?: boolean;
  /** Another parameter that a request can have instead. */
  'x-required-unless'?: string;
  schema?: JsonSchema;
  example?: unknown;
  style?: 'form';
  explode?: boolean;
}

export interface MediaType {
  schema?: JsonSchema | Reference;
  example?: unknown;
  examples?: Record<string, { summary?: string; value: unknown }>;
}

export interface ResponseObject {
  description: string;
  headers?: Record<string, Reference | HeaderObject>;
  content?: Record<string, MediaType>;
}

export interface HeaderObject {
  description: string;
  required?: boolean;
  schema: JsonSchema;
}

export interface RequestBodyObject {
  description: string;
  required: boolean;
  content: Record<string, MediaType>;
}

export interface OperationObject {
  operationId: string;
  tags: readonly string[];
  summary: string;
  description: string;
  deprecated?: true;
  parameters?: readonly (ParameterObject | Reference)[];
  requestBody?: RequestBodyObject;
  responses: Record<string, ResponseObject | Reference>;
  /** Empty if no key is needed. */
  security?: readonly [];
  /** The response to a call that has not ended, with status 202. */
  'x-unfinished'?: Reference;
  [extension: `x-${string}`]: unknown;
}

export type Method = 'get' | 'post' | 'patch' | 'delete';

/** Operations by path and method. */
export type Paths = Record<string, Partial<Record<Method, OperationObject>>>;
