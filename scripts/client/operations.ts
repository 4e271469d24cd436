import { jsonAnswerOf } from '../../src/operations/define.ts';
import { queuedOperation } from '../../src/operations/index.ts';
import type { JsonSchema } from '../../src/operations/params/request.ts';
import { TABLE_FORMAT_NAMES } from '../../src/operations/tables/formats.ts';
import { ERRORS } from '../../src/platform/errors.ts';
import { type ClientMethod, clientMethods } from './methods.ts';
import { dataNameOf, headOf, namesSite, parametersNameOf } from './types.ts';

/** Returns the methods of the client as TypeScript: their types, and their addresses. */
export function operationsFile(): string {
  const methods = clientMethods();
  const groups = [...new Set(methods.map(groupOf))];
  const names = operationNames();
  return `${headOf('')}import type { components } from './schemas.ts';
import type { Call, CallWithoutParams, Free, FreeOrTable, FreeWithoutParams, List, ListCall, ListOrTable, OfId, OfIdWith, Plain } from '../method-types.ts';

export type Schemas = components['schemas'];

/** The operations that cost units, by the names for batches, schedules and jobs. */
export const OPERATION_NAMES = [
${names.map((name) => `  '${name}',`).join('\n')}
] as const;

export type OperationName = (typeof OPERATION_NAMES)[number];

/** The codes of errors; see the guide "Errors". */
export type ErrorCode =
  | ${[...new Set(Object.values(ERRORS).map(({ code }) => `'${code}'`))].join('\n  | ')};

/** The forms of a table. */
export type TableFormat = ${union(TABLE_FORMAT_NAMES)};

/** The tables of answers by operation; never for answers without rows. */
export interface OperationTables {
${methods
  .filter(isCall)
  .map(({ operation, tables }) => `  '${operation}': ${union(tables)};`)
  .join('\n')}
}

export interface Methods {
${groups.map((group) => groupType(group, methods)).join('\n')}
}

/** Data by operation, for results of batches. */
export interface OperationData {
${methods
  .filter(isCall)
  .map((method) => `  '${method.operation}': ${method.data ? resultType(method) : '{ base64: string }'};`)
  .join('\n')}
}

/** How a method is called; \`takes\` says whether it has parameters, \`entries\` is the field with the entries of a list. */
export type Address = readonly [method: string, path: string, timeoutSeconds: number, repeats: 'charged' | 'always' | 'never', takes: 'params' | 'nothing', entries?: string];

export const ADDRESSES: Readonly<Record<string, Address>> = {
${methods.map(addressOf).join('\n')}
};
`;
}

/** The operations that cost units. */
export function operationNames(): string[] {
  return clientMethods()
    .filter(isCall)
    .map(({ operation = '' }) => operation);
}

/** Whether a method is an operation that costs units. */
function isCall({ operation, price }: ClientMethod): boolean {
  return operation !== undefined && price !== '0';
}

function union(names: readonly string[]): string {
  return names.map((name) => `'${name}'`).join(' | ') || 'never';
}

function groupOf({ name }: ClientMethod): string {
  return name.split('.')[0] ?? name;
}

function groupType(group: string, methods: readonly ClientMethod[]): string {
  const lines = methods
    .filter((method) => groupOf(method) === group)
    .map((method) => {
      const { name, summary, price } = method;
      const cost = price && price !== '0' ? ` Units: ${price}.` : ' Free.';
      return `    /** ${summary}${method.operation ? cost : ''} */\n    ${name.split('.')[1]}: ${methodType(method)};`;
    });
  return `  ${group}: {\n${lines.join('\n')}\n  };`;
}

function methodType(method: ClientMethod): string {
  const { parameters, hasId, operation } = method;
  const site = namesSite(method) ? " & Schemas['Site']" : '';
  const params = parameters ? `Schemas['${parametersNameOf(method)}']${site}` : null;
  const data = resultType(method);
  const entries = entriesOf(method);
  const isTable = (parameters?.properties?.format as JsonSchema | undefined)?.enum?.includes('json');
  if (isTable && entries) return `ListOrTable<${params}, ${data}, ${data}['${entries}'][number]>`;
  if (isTable) return `FreeOrTable<${params}, ${data}>`;
  if (entries && isCall(method))
    return `ListCall<${params}, ${data}, ${data}['${entries}'][number], OperationTables['${operation}']>`;
  if (entries)
    return `List<${hasId ? '[id: string]' : '[]'}, ${params}, ${data}, ${data}['${entries}'][number]>`;
  if (hasId) return params ? `OfIdWith<${params}, ${data}>` : `OfId<${data}>`;
  const isOptional = !parameters?.required?.length;
  if (!params) return `Plain<${data}>`;
  if (isCall(method))
    return `${isOptional ? 'CallWithoutParams' : 'Call'}<${params}, ${data}, OperationTables['${operation}']>`;
  return `${isOptional ? 'FreeWithoutParams' : 'Free'}<${params}, ${data}>`;
}

function resultType(method: ClientMethod): string {
  const name = dataNameOf(method);
  return name ? `Schemas['${name}']` : 'Uint8Array';
}

/** The field with the entries of a page, if the method returns one page of a list. */
export function entriesOf({ parameters, data, name, operation }: ClientMethod): string | null {
  if (!parameters?.properties?.cursor || !data) return null;
  const contract = operation && queuedOperation(operation);
  if (contract) return jsonAnswerOf(contract)?.records?.path ?? null;
  const [group = '', list = ''] = name.split('.');
  return list === 'list' ? group : list;
}

function addressOf(method: ClientMethod): string {
  const { name, path, timeoutSeconds, repeats, parameters } = method;
  const entries = entriesOf(method);
  const takes = parameters ? 'params' : 'nothing';
  const parts = [
    method.method.toUpperCase(),
    path,
    timeoutSeconds,
    repeats,
    takes,
    ...(entries ? [entries] : []),
  ];
  return `  '${name}': [${parts.map((part) => (typeof part === 'number' ? part : `'${part}'`)).join(', ')}],`;
}
