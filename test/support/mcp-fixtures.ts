import type { ResourceContents, Served, ToolResult } from '../../src/api/mcp/protocol.ts';
import type { ListedTool } from '../../src/api/mcp/tool.ts';
import { picture } from './answers.ts';

// What the public conformance suite expects a server to have for its scenarios: these names, and these answers.

const TEXT = 'This is a simple text response for testing.';
const STATIC_TEXT: ResourceContents = {
  uri: 'test://static-text',
  mimeType: 'text/plain',
  text: 'This is the content of the static text resource.',
};

/** Keywords of the dialect that must be returned unchanged. */
const DIALECT = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'address',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  // biome-ignore lint/suspicious/noThenProperty: it is a keyword of the dialect.
  ...{ if: { required: ['name'] }, then: { required: ['phone'] }, else: { required: ['email'] } },
  additionalProperties: false,
} as const;

export async function conformanceFixtures(): Promise<Served<null>> {
  const image = (await picture(100, 100)).toString('base64');
  const block = { type: 'image', data: image, mimeType: 'image/png' } as const;
  const embedded = {
    uri: 'test://embedded-resource',
    mimeType: 'text/plain',
    text: 'This is an embedded resource content.',
  };
  const results: Record<string, ToolResult> = {
    test_simple_text: { content: [{ type: 'text', text: TEXT }] },
    test_image_content: { content: [block] },
    test_audio_content: { content: [{ type: 'audio', data: 'UklGRiYAAABXQVZF', mimeType: 'audio/wav' }] },
    test_embedded_resource: { content: [{ type: 'resource', resource: embedded }] },
    test_multiple_content_types: {
      content: [
        { type: 'text', text: 'Multiple content types test:' },
        block,
        {
          type: 'resource',
          resource: { uri: 'test://mixed', mimeType: 'application/json', text: '{"test":"data"}' },
        },
      ],
    },
    test_error_handling: {
      content: [{ type: 'text', text: 'This tool intentionally returns an error for testing' }],
      isError: true,
    },
    test_tool_with_progress: { content: [{ type: 'text', text: 'done' }] },
    test_logging_tool: { content: [{ type: 'text', text: 'done without a log' }] },
    json_schema_2020_12_tool: { content: [{ type: 'text', text: 'taken' }] },
  };
  return {
    info: { name: 'fixtures', title: 'Fixtures', version: '1.0.0' },
    instructions: 'For the conformance suite.',
    listTools: () =>
      Object.keys(results).map((name) => ({
        name,
        description: `Fixture ${name}`,
        inputSchema: (name === 'json_schema_2020_12_tool'
          ? DIALECT
          : { type: 'object', properties: {} }) as ListedTool['inputSchema'],
        annotations: { title: name, readOnlyHint: true, destructiveHint: false, openWorldHint: false },
      })),
    async callTool(_caller, name, _args, { onProgress }) {
      if (name === 'test_tool_with_progress')
        for (const progress of [0, 50, 100])
          await onProgress?.({ progress, total: 100, message: `${progress}` });
      return results[name] ?? null;
    },
    async listResources() {
      return [
        { uri: STATIC_TEXT.uri, name: 'Static text', mimeType: 'text/plain' },
        { uri: 'test://static-binary', name: 'Static binary', mimeType: 'image/png' },
      ];
    },
    prompts: [],
    promptText: () => null,
    resourceTemplates: [
      { uriTemplate: 'test://template/{id}/data', name: 'Template', description: 'Data of an id' },
    ],
    async readResource(_caller, uri) {
      if (uri === STATIC_TEXT.uri) return [STATIC_TEXT];
      if (uri === 'test://static-binary') return [{ uri, mimeType: 'image/png', blob: image }];
      const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
      if (id === undefined) return [];
      const text = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
      return [{ uri, mimeType: 'application/json', text }];
    },
  };
}
