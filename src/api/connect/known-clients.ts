const CODE_AND_REFRESH = {
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
};

const LOOPBACK = ['http://localhost/callback', 'http://127.0.0.1/callback'];

/**
 * Metadata documents as vendors published them in 2026, by their addresses: some vendors refuse requests from data centers, so that
 * their clients could not sign in there (anthropics/claude-code#84263, cloudflare/workers-oauth-provider#333). A document that can
 * be fetched has precedence. The addresses of return belong to the vendor or to the machine of the person, so that a code cannot
 * reach anybody else.
 */
export const KNOWN_CLIENTS: Readonly<Record<string, object>> = Object.fromEntries(
  Object.entries({
    'https://claude.ai/oauth/mcp-oauth-client-metadata': {
      client_name: 'Claude',
      redirect_uris: ['https://claude.ai/api/mcp/auth_callback'],
    },
    'https://claude.ai/oauth/claude-code-client-metadata': {
      client_name: 'Claude Code',
      redirect_uris: LOOPBACK,
    },
    'https://chatgpt.com/oauth/client.json': {
      client_name: 'ChatGPT',
      redirect_uris: ['https://chatgpt.com/connector_platform_oauth_redirect'],
    },
    'https://chatgpt.com/oauth/codex/client.json': { client_name: 'Codex', redirect_uris: LOOPBACK },
    'https://vscode.dev/oauth/client-metadata.json': {
      client_name: 'Visual Studio Code',
      redirect_uris: ['http://127.0.0.1:33418/', 'https://vscode.dev/redirect'],
    },
  }).map(([client_id, metadata]) => [client_id, { client_id, ...CODE_AND_REFRESH, ...metadata }]),
);
