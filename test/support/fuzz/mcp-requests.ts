import fc from 'fast-check';
import { OPERATIONS } from '../../../src/operations/index.ts';
import type { JsonSchema } from '../../../src/operations/params/request.ts';
import { OPERATION_SAMPLES } from '../operation-samples.ts';
import { words } from '../words.ts';
import { changes, type Fields, JsonText, jsonOf, oddName, oddValue, writeJson } from './odd-values.ts';
import { type FuzzRequest, requestChanges } from './request.ts';

const METHODS = [
  ...words(`
    initialize ping tools/list resources/list resources/read resources/templates/list prompts/list
    prompts/get logging/setLevel completion/complete notifications/initialized notifications/cancelled
    notifications/progress sampling/createMessage roots/list server/discover resources/subscribe
    tasks/list tools/unknown rpc.discover
  `),
  '',
  '__proto__',
];

const VERSIONS = [
  ...words('2024-11-05 2025-03-26 2025-06-18 2025-11-25 2026-07-28 1999-01-01 x'),
  '',
  '2025-06-18, x',
];

const PARAMS: Record<string, Fields> = {
  initialize: [
    ['protocolVersion', '2025-06-18'],
    ['capabilities', {}],
    ['clientInfo', { name: 'fuzz', version: '1' }],
  ],
  'resources/read': [['uri', 'souk://jobs/x']],
  'completion/complete': [
    ['ref', { type: 'ref/resource', uri: 'souk://x' }],
    ['argument', { name: 'id', value: 'x' }],
  ],
  'logging/setLevel': [['level', 'debug']],
};

export interface FuzzedTool {
  name: string;
  inputSchema: JsonSchema;
}

/** Messages to the MCP server: good ones, odd ones, and several in one body. */
export function mcpRequests(tools: readonly FuzzedTool[]): fc.Arbitrary<FuzzRequest> {
  const message = fc.oneof(
    { weight: 3, arbitrary: toolCalls(tools) },
    { weight: 3, arbitrary: otherMessages() },
    { weight: 1, arbitrary: oddValue.map(jsonOf) },
  );
  const body = fc.oneof(
    { weight: 8, arbitrary: message },
    { weight: 1, arbitrary: fc.array(message, { maxLength: 5 }).map((all) => `[${all.join(',')}]`) },
    { weight: 1, arbitrary: message.map((one) => `[${Array.from({ length: 25 }, () => one).join(',')}]`) },
  );
  const version = fc.option(fc.constantFrom(...VERSIONS), { nil: null });
  const query = fc.constantFrom('', '', '', '?toolsets=market,aba', '?toolsets=%00', '?toolsets=nothing');
  return fc.tuple(body, version, query, requestChanges).map(([text, protocol, search, finish]) =>
    finish({
      method: 'POST',
      path: `/mcp${search}`,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(protocol === null ? {} : { 'mcp-protocol-version': protocol }),
      },
      body: text,
      as: 'customer',
    }),
  );
}

/** The envelope of JSON-RPC, which may be odd itself. */
function enveloped(
  method: string,
  params: string,
  [id, change]: readonly [unknown, (fields: Fields) => Fields],
): string {
  return writeJson(
    change([
      ['jsonrpc', '2.0'],
      ['id', id],
      ['method', method],
      ['params', new JsonText(params)],
    ]),
  );
}

const envelope = fc.tuple(
  fc.oneof({ weight: 5, arbitrary: fc.nat() }, { weight: 1, arbitrary: oddValue }),
  fc.oneof(
    { weight: 5, arbitrary: fc.constant((fields: Fields) => fields) },
    { weight: 1, arbitrary: changes },
  ),
);

function toolCalls(tools: readonly FuzzedTool[]): fc.Arbitrary<string> {
  const one = fc.constantFrom(...tools).chain(({ name, inputSchema }) => {
    const operation = OPERATIONS.find(({ tool }) => tool === name);
    const samples = (operation && OPERATION_SAMPLES[operation.name]) ?? [{}];
    const names = Object.keys(inputSchema.properties ?? {});
    const good = fc.oneof(
      fc.constantFrom(...samples).map((sample): Fields => Object.entries(sample)),
      fc.array(fc.tuple(fc.constantFrom(...names, 'x'), oddValue), { maxLength: 4 }),
    );
    return fc.tuple(good, changes).map(([fields, change]) => [name, writeJson(change(fields))] as const);
  });
  return fc.tuple(one, changes, envelope).map(([[name, args], change, around]) => {
    const params: Fields = [
      ['name', name],
      ['arguments', new JsonText(args)],
    ];
    return enveloped('tools/call', writeJson(change(params)), around);
  });
}

function otherMessages(): fc.Arbitrary<string> {
  const method = fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(...METHODS) },
    { weight: 1, arbitrary: oddName },
  );
  return fc.tuple(method, changes, fc.nat(9), oddValue, envelope).map(([name, change, dice, odd, around]) => {
    const params =
      dice === 0 ? jsonOf(odd) : writeJson(change(Object.hasOwn(PARAMS, name) ? (PARAMS[name] ?? []) : []));
    return enveloped(name, params, around);
  });
}
