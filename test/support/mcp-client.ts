import {
  type CallToolResult,
  Client,
  type ClientCapabilities,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { onTestFinished } from 'vitest';

/** The generations of the protocol: with a handshake, and with everything in each request. */
export const ERAS = ['legacy', 'modern'] as const;

const NEWEST_REVISION = '2026-07-28';

export interface McpOptions {
  era?: (typeof ERAS)[number];
  /** As in `market,aba`. */
  toolsets?: string;
  capabilities?: ClientCapabilities;
}

/** The result of a tool. */
export interface ToolAnswer {
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
  data: any;
  isError: boolean;
  content: CallToolResult['content'];
}

/** An agent with a key: the client of the protocol's SDK, which validates every answer against the listed schema. */
export interface Agent {
  client: Client;
  call(name: string, args?: Record<string, unknown>, options?: CallOptions): Promise<ToolAnswer>;
}

type CallOptions = Parameters<Client['callTool']>[1];

/** An agent that is closed after the test. */
export async function connectAgent(...[account, options]: Parameters<typeof openAgent>): Promise<Agent> {
  const agent = await openAgent(account, options);
  onTestFinished(() => agent.client.close());
  return agent;
}

export async function openAgent(
  { baseUrl, key }: { baseUrl: string; key: string },
  { era = 'legacy', toolsets, capabilities }: McpOptions = {},
): Promise<Agent> {
  const url = new URL('/mcp', baseUrl);
  if (toolsets) url.searchParams.set('toolsets', toolsets);
  const client = newClient(era, capabilities);
  await client.connect(
    new StreamableHTTPClientTransport(url, { requestInit: { headers: { 'x-api-key': key } } }),
  );
  return agentOf(client);
}

export function newClient(era: McpOptions['era'] = 'legacy', capabilities: ClientCapabilities = {}): Client {
  // A client that may fall back to the handshake would hide that the newest revision does not work.
  const mode = era === 'modern' ? { pin: NEWEST_REVISION } : era;
  return new Client({ name: 'test', version: '1.0.0' }, { capabilities, versionNegotiation: { mode } });
}

export function agentOf(client: Client): Agent {
  return {
    client,
    async call(name, args = {}, options) {
      const { structuredContent, content, isError } = await client.callTool(
        { name, arguments: args },
        options,
      );
      return { data: structuredContent, isError: isError === true, content };
    },
  };
}
