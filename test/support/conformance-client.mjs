// A host that starts the command `mcp` as its server, for the client scenarios of the conformance suite: lists the tools and calls
// each. The suite appends the address of its own server.
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const [command, url] = process.argv.slice(2);
const { PATH, HOME, MCP_CONFORMANCE_PROTOCOL_VERSION: revision } = process.env;
const mode = revision === '2026-07-28' ? { pin: revision } : 'legacy';
const client = new Client({ name: 'host', version: '1.0.0' }, { versionNegotiation: { mode } });
const transport = new StdioClientTransport({
  command: process.execPath,
  args: [command, 'mcp'],
  env: { PATH, HOME, SOUK_URL: new URL(url).origin, SOUK_API_KEY: `km_${'0'.repeat(32)}` },
  stderr: 'inherit',
});
await client.connect(transport);
const { tools } = await client.listTools();
for (const { name } of tools) {
  // A tool of the suite wants to know how the schema of another one has arrived.
  const [other] = tools.filter((tool) => tool.name !== name);
  const args = name === 'json_schema_echo' ? { schema: other.inputSchema } : { a: 5, b: 3 };
  await client.callTool({ name, arguments: args });
}
await client.close();
