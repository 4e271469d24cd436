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
  schema?: JsonSchema;
  content?: Record<string, MediaType>;
  example?: unknown;
  style?: 'form';
  explode?: boolean;
  /** A request needs this parameter under one of its names. */
  'x-needed'?: true;
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
  parameters?: readonly (ParameterObject | Reference)[];
  requestBody?: RequestBodyObject;
  responses: Record<string, ResponseObject | Reference>;
  /** Empty if no key is needed. */
  security?: readonly [];
  [extension: `x-${string}`]: unknown;
}

export type Method = 'get' | 'post' | 'patch' | 'delete';

/** Operations by path and method. */
export type Paths = Record<string, Partial<Record<Method, OperationObject>>>;

/** Returns the name in generated clients, such as `getMarketProduct` or `deleteJobsById`. */
export function operationIdOf(method: Method, path: string): string {
  const words = path
    .replace(/^\/api/, '')
    .replaceAll('{', 'by-')
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return `${method}${words.join('')}`;
}
