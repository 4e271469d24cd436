import type { VNode } from 'preact';
import { stringifyJson } from '../../platform/json.ts';

/** A request that an example makes. */
export interface ExampleRequest {
  method: string;
  /** With the query, without the address of the service. */
  url: string;
  body?: unknown;
}

export interface ExampleOf {
  request: ExampleRequest;
  baseUrl: string;
  /** Default: a placeholder. */
  apiKey?: string | null;
}

/** Stands for a key. A script of the documents replaces it by a test key. */
export const KEY_PLACEHOLDER = 'YOUR_KEY';

/** The address of examples in documents. A script replaces it by that of the service that sent the page. */
export const EXAMPLE_ADDRESS = 'http://127.0.0.1:3000';

const LANGUAGES = [
  ['curl', curlExample],
  ['TypeScript', typeScriptExample],
  ['Python', pythonExample],
] as const;

/** A call in curl, TypeScript and Python, one of which is open. @param props.id unique in the page. */
export function CallExamples(props: ExampleOf & { id: string }): VNode {
  const { id, ...example } = props;
  return (
    <div class="examples">
      {LANGUAGES.map(([language, write], i) => {
        const codeId = `${id}-${language.toLowerCase()}`;
        return (
          <details key={language} name={id} open={i === 0}>
            <summary>{language}</summary>
            <div class="example">
              <button type="button" class="small copy" data-copy={codeId} hidden>
                Copy
              </button>
              {/* biome-ignore lint/a11y/noNoninteractiveTabindex: an element that scrolls must be reachable with the keyboard. */}
              <pre class="wrap" tabIndex={0}>
                <code id={codeId}>{write(example)}</code>
              </pre>
            </div>
          </details>
        );
      })}
    </div>
  );
}

/** Writes a call as a curl command. */
export function curlExample({
  request: { method, url, body },
  baseUrl,
  apiKey = KEY_PLACEHOLDER,
}: ExampleOf): string {
  const parts = ['curl'];
  if (apiKey !== null) parts.push('-H', quoted(`X-API-Key: ${apiKey}`));
  if (method !== 'GET' && !(method === 'POST' && body !== undefined)) parts.push('-X', method);
  if (body !== undefined)
    parts.push('-H', quoted('Content-Type: application/json'), '-d', quoted(stringifyJson(body)));
  return [...parts, quoted(`${baseUrl}${url}`)].join(' ');
}

/** In single quotes a shell interprets only the quote itself. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Returns what a request is answered with: the envelope, a table as text, or a file. */
function answerOf({ url, body }: ExampleRequest): 'json' | 'text' | 'file' {
  const { pathname, searchParams } = new URL(url, EXAMPLE_ADDRESS);
  const format = searchParams.get('format') ?? (body as { format?: unknown } | undefined)?.format;
  if (format === 'csv' || format === 'ndjson') return 'text';
  return format === 'xlsx' || format === 'parquet' || pathname.endsWith('/graphimage') ? 'file' : 'json';
}

const TYPE_SCRIPT_READS = {
  json: 'const { data } = await response.json();',
  text: 'const table = await response.text();',
  file: 'const file = Buffer.from(await response.arrayBuffer());',
};

const PYTHON_READS = {
  json: 'data = response.json()["data"]',
  text: 'table = response.text',
  file: 'file = response.content',
};

function typeScriptExample({ request, baseUrl, apiKey = KEY_PLACEHOLDER }: ExampleOf): string {
  const { method, url, body } = request;
  const headers = [
    ...(apiKey === null ? [] : [`'X-API-Key': '${apiKey}'`]),
    ...(body === undefined ? [] : [`'Content-Type': 'application/json'`]),
  ];
  const options = [
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    ...(headers.length === 0 ? [] : [`  headers: { ${headers.join(', ')} },`]),
    ...(body === undefined ? [] : [`  body: ${typeScriptBody(body)},`]),
  ];
  const address = JSON.stringify(`${baseUrl}${url}`);
  const call = options.length === 0 ? address : `${address}, {\n${options.join('\n')}\n}`;
  return `const response = await fetch(${call});\n${TYPE_SCRIPT_READS[answerOf(request)]}`;
}

/** A number of JavaScript would lose the last digits of a long id. */
function typeScriptBody(body: unknown): string {
  const json = stringifyJson(body);
  return /\d{16}/.test(json) ? JSON.stringify(json) : `JSON.stringify(${json})`;
}

function pythonExample({ request, baseUrl, apiKey = KEY_PLACEHOLDER }: ExampleOf): string {
  const { method, url, body } = request;
  const lines = [
    JSON.stringify(`${baseUrl}${url}`),
    ...(apiKey === null ? [] : [`headers={"X-API-Key": "${apiKey}"}`]),
    ...(body === undefined ? [] : [`json=${pythonLiteral(body)}`]),
  ];
  const call = `requests.${method.toLowerCase()}(\n${lines.map((line) => `    ${line},\n`).join('')})`;
  return `import requests\n\nresponse = ${call}\n${PYTHON_READS[answerOf(request)]}`;
}

const PYTHON_WORDS = new Map<unknown, string>([
  [null, 'None'],
  [true, 'True'],
  [false, 'False'],
]);

function pythonLiteral(value: unknown): string {
  const word = PYTHON_WORDS.get(value);
  if (word !== undefined) return word;
  if (Array.isArray(value)) return `[${value.map(pythonLiteral).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return stringifyJson(value);
  const fields = Object.entries(value).map(
    ([name, field]) => `${JSON.stringify(name)}: ${pythonLiteral(field)}`,
  );
  return `{${fields.join(', ')}}`;
}
