import {
  type ContentBlock,
  createMcpHandler,
  hostHeaderValidationResponse,
  isJSONRPCRequest,
  isSpecType,
  type Resource as ListedResource,
  type McpHttpHandler,
  originValidationResponse,
  type Prompt,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  ResourceNotFoundError,
  type ResourceTemplateType as ResourceTemplate,
  Server,
  type ServerContext,
  type CallToolResult as ToolResult,
  type Transport,
} from '@modelcontextprotocol/server';
import { HOUR_MS } from '../../platform/durations.ts';
import type { Arguments, ListedTool } from './tool.ts';

// The only file of the gateway that imports the SDK of the Model Context Protocol.

export type { ContentBlock, ListedResource, ResourceTemplate, ToolResult };

export type ResourceContents = ReadResourceResult['contents'][number];

/** The tools and resources that are served over the protocol. `Caller` is opaque here. */
export interface Served<Caller> {
  info: { name: string; title: string; version: string };
  instructions: string;
  /** Extensions of the protocol by name, with their settings. */
  extensions?: Record<string, Record<string, never>>;
  listTools(caller: Caller): readonly ListedTool[];
  /** @returns null if the caller has no such tool. */
  callTool(caller: Caller, name: string, args: Arguments, context: CallContext): Promise<ToolResult | null>;
  prompts: readonly Prompt[];
  /** Returns the text of a prompt, or what is wrong with its arguments; null if it does not exist. */
  promptText(name: string, values: Record<string, string>): { text: string } | { problem: string } | null;
  listResources(caller: Caller): Promise<readonly ListedResource[]>;
  resourceTemplates: readonly ResourceTemplate[];
  /** @returns an empty list if the resource does not exist. @throws Error whose message is public. */
  readResource(caller: Caller, uri: string): Promise<readonly ResourceContents[]>;
}

export interface CallContext {
  /** Aborted when the caller has disconnected or cancelled the call. */
  signal: AbortSignal;
  /** Reports the progress of the call; null if the caller did not ask for it. */
  onProgress: ((progress: { progress: number; total: number; message: string }) => Promise<void>) | null;
}

/** Answers requests of the protocol, without sessions. */
interface ProtocolHandler<Caller> {
  handle(request: Request, body: unknown, caller: Caller): Promise<Response>;
  close(): Promise<void>;
}

/** How long clients may cache lists, which change only with releases. */
const LIST_LIFETIME_MS = HOUR_MS;

export function createProtocolHandler<Caller>(
  served: Served<Caller>,
  onError: (error: Error) => void,
): ProtocolHandler<Caller> {
  const handler: McpHttpHandler = createMcpHandler(
    ({ authInfo }) => serverFor(served, authInfo?.extra?.caller as Caller),
    { onerror: onError },
  );
  return {
    handle: (request, body, caller) =>
      handler.fetch(request, {
        parsedBody: body,
        // The key was checked before; this only passes the caller to the tool handlers.
        authInfo: { token: '', clientId: '', scopes: [], extra: { caller } },
      }),
    close: handler.close,
  };
}

/** Requests for which the SDK returns an internal error if their parameters are invalid. */
const REQUESTS: Readonly<Record<string, (request: unknown) => boolean>> = {
  // The newest revision has no handshake, so the SDK does not know the method there.
  initialize: (request) => hasEnvelope(request) || isSpecType.InitializeRequest(request),
  'prompts/get': isSpecType.GetPromptRequest,
  'prompts/list': isSpecType.ListPromptsRequest,
  'resources/list': isSpecType.ListResourcesRequest,
  'resources/read': isSpecType.ReadResourceRequest,
  'resources/templates/list': isSpecType.ListResourceTemplatesRequest,
  'tools/list': isSpecType.ListToolsRequest,
};

/** Returns whether a request has everything in itself, as since the revision 2026-07-28. */
function hasEnvelope(request: unknown): boolean {
  const { params } = request as { params?: { _meta?: Record<string, unknown> } };
  return params?._meta?.['io.modelcontextprotocol/protocolVersion'] !== undefined;
}

/** Refuses invalid parameters with `InvalidParams` before the SDK reads them. */
class StrictServer extends Server {
  override async connect(transport: Transport): Promise<void> {
    await super.connect(transport);
    const { onmessage } = transport;
    transport.onmessage = (message, extra) => {
      if (!isJSONRPCRequest(message) || (REQUESTS[message.method]?.(message) ?? true))
        return onmessage?.(message, extra);
      const { id, method } = message;
      const error = {
        code: ProtocolErrorCode.InvalidParams,
        message: `params: ${method} has missing or invalid parameters.`,
      };
      transport
        .send({ jsonrpc: '2.0', id, error }, { relatedRequestId: id })
        .catch((fault: Error) => this.onerror?.(fault));
    };
  }
}

function serverFor<Caller>(served: Served<Caller>, caller: Caller): Server {
  const { info, instructions, extensions } = served;
  const kept = { ttlMs: LIST_LIFETIME_MS, cacheScope: 'private' } as const;
  const server = new StrictServer(info, {
    capabilities: {
      tools: { listChanged: false },
      resources: { listChanged: false, subscribe: false },
      prompts: { listChanged: false },
      ...(extensions ? { extensions } : {}),
    },
    instructions,
    cacheHints: {
      'tools/list': kept,
      'prompts/list': kept,
      'resources/templates/list': kept,
      'server/discover': kept,
    },
  });
  server.setRequestHandler('tools/list', () => ({ tools: served.listTools(caller) as never }));
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const { name, arguments: args = {} } = params;
    const result = await served.callTool(caller, name, args, callContext(context));
    if (result) return { ...result };
    throw invalidParams(`Unknown tool: ${name.slice(0, 100)}.`);
  });
  server.setRequestHandler('prompts/list', () => ({
    // Without the functions that write their texts.
    prompts: served.prompts.map(({ name, title, description, arguments: args }) => ({
      name,
      title,
      description,
      arguments: args,
    })),
  }));
  server.setRequestHandler('prompts/get', ({ params: { name, arguments: values = {} } }) => {
    const found = served.promptText(name, values);
    if (!found) throw invalidParams(`Unknown prompt: ${name.slice(0, 100)}.`);
    if ('problem' in found) throw invalidParams(found.problem);
    return { messages: [{ role: 'user' as const, content: { type: 'text' as const, text: found.text } }] };
  });
  server.setRequestHandler('resources/list', async () => ({
    resources: [...(await served.listResources(caller))],
  }));
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [...served.resourceTemplates],
  }));
  server.setRequestHandler('resources/read', async ({ params: { uri } }) => {
    const contents = await served.readResource(caller, uri).catch((error: unknown) => {
      throw error instanceof InvalidResource ? invalidParams(error.message) : error;
    });
    if (contents.length === 0) throw new ResourceNotFoundError(uri.slice(0, 200));
    return { contents: [...contents] };
  });
  return server;
}

/** A resource that cannot be read as requested. Its message is public. */
export class InvalidResource extends Error {}

function invalidParams(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}

function callContext({ mcpReq }: ServerContext): CallContext {
  const progressToken = mcpReq._meta?.progressToken;
  const { signal } = mcpReq;
  if (progressToken === undefined) return { signal, onProgress: null };
  return {
    signal,
    onProgress: (progress) =>
      mcpReq.notify({ method: 'notifications/progress', params: { progressToken, ...progress } }),
  };
}

/**
 * Prevents DNS rebinding: a web page whose host name resolves to this address could send requests through the browser of
 * its visitor. Such requests have that host name in these headers.
 * @returns the refusal; null if the names are allowed.
 */
export function refusalOfOrigin(request: Request, allowedHosts: readonly string[]): Response | null {
  const hosts = [...allowedHosts];
  return hostHeaderValidationResponse(request, hosts) ?? originValidationResponse(request, hosts) ?? null;
}
