import {
  isInitializeRequest,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type RequestId,
  SdkHttpError,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import { isWellFormed } from '../../accounts/authentication.ts';
import { parseSettings } from '../../platform/settings.ts';
import { type AddCommands, programOf } from '../terminal.ts';

const settings = z.object({
  SOUK_URL: z.url({ protocol: /^https?$/, error: 'must be a URL such as http://127.0.0.1:3000' }),
  SOUK_API_KEY: z
    .string('must be an API key')
    .refine(isWellFormed, 'must be an API key: km_ or km_test_, and 32 letters or digits'),
});

export const mcpCommand: AddCommands = (parent) => {
  const command = parent.command('mcp');
  command
    .description(
      'serves the tools of the gateway at SOUK_URL over stdin and stdout, with the key SOUK_API_KEY',
    )
    .option('--toolsets <list>', 'toolsets to offer, such as market,aba')
    .action(async ({ toolsets }: { toolsets?: string }) => {
      const program = programOf(command);
      const { SOUK_URL, SOUK_API_KEY } = parseSettings(settings, program.terminal.env);
      const endpoint = new URL('/mcp', SOUK_URL);
      if (toolsets !== undefined) endpoint.searchParams.set('toolsets', toolsets);
      program.failed = !(await runMcpBridge(endpoint, SOUK_API_KEY));
    });
};

/** JSON-RPC's code for an internal error. */
const INTERNAL_ERROR = -32_603;

/**
 * Forwards messages of the Model Context Protocol from stdin to a gateway and its answers to stdout, until stdin ends. The
 * gateway decides on tools, keys and prices.
 * @returns false if stdin or stdout failed.
 */
async function runMcpBridge(endpoint: URL, key: string): Promise<boolean> {
  const near = new StdioServerTransport();
  const far = new StreamableHTTPClientTransport(endpoint, { requestInit: { headers: { 'x-api-key': key } } });
  const unanswered = new Set<RequestId>();
  let initializeId: unknown;
  let isClosing = false;
  let hasFailed = false;

  // A host that has stopped reading receives no answer; `onerror` reports the broken stream.
  const answer = (message: JSONRPCMessage) => void near.send(message).catch(() => {});
  const refuse = (message: JSONRPCMessage, reason: string) => {
    if (isClosing) return;
    const refusal = `Souk at ${endpoint.origin} ${reason}`;
    process.stderr.write(`${refusal}\n`);
    if (!isJSONRPCRequest(message) || !unanswered.delete(message.id)) return;
    answer({ jsonrpc: '2.0', id: message.id, error: { code: INTERNAL_ERROR, message: refusal } });
  };

  near.onmessage = (message) => {
    if (isInitializeRequest(message) && isJSONRPCRequest(message)) initializeId = message.id;
    if (isJSONRPCRequest(message)) unanswered.add(message.id);
    const onRequestStreamEnd = () => {
      if (isJSONRPCRequest(message) && unanswered.has(message.id)) refuse(message, 'closed the connection');
    };
    far.send(message, { onRequestStreamEnd }).catch((error: unknown) => refuse(message, reasonOf(error)));
  };
  near.onerror = (error) => {
    process.stderr.write(`stdin or stdout: ${error.message}\n`);
    hasFailed = true;
  };
  far.onmessage = (message: JSONRPCMessage) => {
    if (!('method' in message) && message.id !== undefined) unanswered.delete(message.id);
    // Later requests state the negotiated version.
    if (isJSONRPCResultResponse(message) && message.id === initializeId) {
      const { protocolVersion } = message.result as { protocolVersion?: unknown };
      if (typeof protocolVersion === 'string') far.setProtocolVersion(protocolVersion);
    }
    answer(message);
  };

  const ended = new Promise<void>((resolve) => {
    near.onclose = () => {
      isClosing = true;
      resolve();
    };
  });
  await far.start();
  await near.start();
  await ended;
  await far.close();
  return !hasFailed;
}

/** The reason why a message was not delivered. */
function reasonOf(error: unknown): string {
  if (!(error instanceof SdkHttpError)) {
    const { message, cause } = error as Error;
    return `cannot be reached: ${cause instanceof Error ? cause.message : message}`;
  }
  const { status, text } = error.data ?? {};
  return `answered ${status}: ${messageIn(text)}`;
}

/** The message of an envelope or of a JSON-RPC error. */
function messageIn(text: unknown): string {
  try {
    const { msg, error } = JSON.parse(String(text)) as { msg?: string; error?: { message?: string } };
    return msg ?? error?.message ?? String(text);
  } catch {
    return String(text).slice(0, 200);
  }
}
