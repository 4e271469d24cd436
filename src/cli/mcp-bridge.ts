import {
  isInitializeRequest,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  SdkHttpError,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';

/** JSON-RPC's code for what went wrong on the way. */
const INTERNAL_ERROR = -32_603;

/**
 * Passes messages of the Model Context Protocol from stdin to a gateway and back to stdout, until stdin ends. It decides
 * nothing: tools, keys and prices are the gateway's.
 */
export async function runMcpBridge(endpoint: URL, key: string): Promise<void> {
  const near = new StdioServerTransport();
  const far = new StreamableHTTPClientTransport(endpoint, { requestInit: { headers: { 'x-api-key': key } } });
  let initializeId: unknown;

  near.onmessage = (message) => {
    if (isInitializeRequest(message) && isJSONRPCRequest(message)) initializeId = message.id;
    far.send(message).catch((error: unknown) => {
      const refusal = `Souk at ${endpoint.origin} ${reasonOf(error)}`;
      process.stderr.write(`${refusal}\n`);
      if (!isJSONRPCRequest(message)) return;
      void near.send({ jsonrpc: '2.0', id: message.id, error: { code: INTERNAL_ERROR, message: refusal } });
    });
  };
  far.onmessage = (message: JSONRPCMessage) => {
    // Later requests say which version was agreed on.
    if (isJSONRPCResultResponse(message) && message.id === initializeId) {
      const { protocolVersion } = message.result as { protocolVersion?: unknown };
      if (typeof protocolVersion === 'string') far.setProtocolVersion(protocolVersion);
    }
    void near.send(message);
  };

  const ended = new Promise<void>((resolve) => {
    near.onclose = resolve;
  });
  await far.start();
  await near.start();
  await ended;
  await far.close();
}

/** Why a message did not get through, for whoever set the bridge up. */
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
