import type { VNode } from 'preact';
import { EXAMPLE_ID } from '../../api/ids.ts';
import { type OpenApiDocument, openApiDocument } from '../../api/openapi/document.ts';
import type {
  Method,
  OperationObject,
  ParameterObject,
  Reference,
  ResponseObject,
} from '../../api/openapi/schemas.ts';
import type { JsonSchema } from '../../operations/params/request.ts';
import { indentJson, stringifyJson } from '../../platform/json.ts';
import { CallExamples, EXAMPLE_ADDRESS, type ExampleRequest } from '../kit/call-examples.tsx';
import { Card, Facts, Tag } from '../kit/elements.tsx';
import { Table } from '../kit/table.tsx';
import { type Heading, renderLine } from './guides.ts';

/** An address of the API with a method. */
interface Endpoint {
  method: Method;
  path: string;
  operation: OperationObject;
}

/** The endpoints of a tag of the OpenAPI document. */
export interface Chapter {
  tag: string;
  title: string;
  description: string;
  endpoints: readonly Endpoint[];
}

const TITLES: Record<string, string> = {
  market: 'Market',
  trends: 'Search trends',
  aba: 'Brand analytics',
  retail: 'Product images',
  audit: 'Audit log',
};

const document = openApiDocument();

/** The chapters of the reference, without addresses that are aliases of others. */
export const CHAPTERS: readonly Chapter[] = document.tags.map(({ name, description }) => ({
  tag: name,
  title: TITLES[name] ?? name.charAt(0).toUpperCase() + name.slice(1),
  description,
  endpoints: endpointsOf(document).filter(({ operation }) => operation.tags.includes(name)),
}));

function endpointsOf({ paths }: OpenApiDocument): Endpoint[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, operation]) =>
      operation.deprecated ? [] : [{ method: method as Method, path, operation }],
    ),
  );
}

/** The headings of a chapter, for its table of contents. */
export function chapterHeadings({ endpoints }: Chapter): Heading[] {
  return endpoints.map(({ operation, method, path }) => ({
    id: operation.operationId,
    level: 2,
    text: `${method.toUpperCase()} ${path.replace(/^\/api/, '')}`,
  }));
}

/** The list of chapters with their endpoints. */
export function ReferenceIndex(): VNode {
  return (
    <>
      <h1>API reference</h1>
      <p class="lead">
        Every address with its parameters, answers, errors and examples.{' '}
        <a href="/openapi.json">OpenAPI 3.1</a> has the same for programs.
      </p>
      {CHAPTERS.map(({ tag, title, description, endpoints }) => (
        <Card key={tag}>
          <h2>
            <a href={`/docs/api/${tag}`}>{title}</a>
          </h2>
          <p>{description}.</p>
          <ul class="endpoints">
            {endpoints.map(({ method, path, operation: { operationId, summary } }) => (
              <li key={operationId}>
                <a href={`/docs/api/${tag}#${operationId}`}>
                  <code>
                    {method.toUpperCase()} {path}
                  </code>
                </a>
                <br />
                {summary}
              </li>
            ))}
          </ul>
        </Card>
      ))}
    </>
  );
}

/** The endpoints of a chapter. */
export function ReferenceChapter({ chapter }: { chapter: Chapter }): VNode {
  const { title, description, endpoints } = chapter;
  return (
    <>
      <h1>{title}</h1>
      <p class="lead">{description}.</p>
      {endpoints.map((endpoint) => (
        <EndpointPart key={endpoint.operation.operationId} endpoint={endpoint} />
      ))}
    </>
  );
}

function EndpointPart({ endpoint }: { endpoint: Endpoint }): VNode {
  const { method, path, operation } = endpoint;
  const { operationId, summary, description, security, requestBody, responses } = operation;
  const { 'x-operation': name, 'x-units': units, 'x-tool': tool } = operation;
  const given = operation.parameters ?? [];
  const own = given.filter((one): one is ParameterObject => 'name' in one);
  const options = given.filter((one): one is Reference => '$ref' in one);
  const body = schemaOf(requestBody?.content['application/json']?.schema);
  return (
    <section class="endpoint" aria-labelledby={operationId}>
      <h2 id={operationId}>
        <code>
          {method.toUpperCase()} {path}
        </code>
      </h2>
      <Line text={description || summary} />
      <Facts
        facts={[
          ['Units', [units].flat().join(' or ')],
          typeof tool === 'string' && ['Tool for agents', <code>{tool}</code>],
          typeof name === 'string' && ['Try it', <a href={`/account/try?operation=${name}`}>{name}</a>],
          security?.length === 0 && ['Key', 'None is needed.'],
        ]}
      />
      {own.length > 0 && <Parameters name={`Parameters of ${operationId}`} rows={own.map(ofParameter)} />}
      {body?.properties && (
        <>
          <h3>Body</h3>
          <Parameters name={`Body of ${operationId}`} rows={fieldsOf(body)} />
        </>
      )}
      {options.length > 0 && (
        <p class="hint">
          Also takes the options {options.map(({ $ref }) => nameIn($ref)).join(', ')}, <code>dryRun</code> and{' '}
          <code>async</code>: see <a href="/docs/long-work">Long-running calls</a> and{' '}
          <a href="/docs/prices-and-wallets">Prices and wallets</a>.
        </p>
      )}
      <CallExamples
        id={`example-${operationId}`}
        request={exampleRequestOf(endpoint)}
        baseUrl={EXAMPLE_ADDRESS}
        {...(security?.length === 0 ? { apiKey: null } : {})}
      />
      <Answer operation={operation} />
      <Errors responses={responses} />
    </section>
  );
}

interface Row {
  name: string;
  type: string;
  isRequired: boolean;
  description: string;
}

function Parameters({ name, rows }: { name: string; rows: readonly Row[] }): VNode {
  return (
    <Table
      name={name}
      stacks
      rows={rows}
      columns={[
        [
          'Name',
          (row) => (
            <>
              <code>{row.name}</code> {row.isRequired && <Tag tone="warn">required</Tag>}
            </>
          ),
          'row',
        ],
        ['Type', ({ type }) => type],
        ['Description', ({ description }) => <Line text={description} />, 'long'],
      ]}
    />
  );
}

function ofParameter(parameter: ParameterObject): Row {
  const { name, in: place, description, required = false, schema = {} } = parameter;
  const { 'x-required-unless': unless } = parameter;
  return {
    name,
    type: typeText(schema) + (place === 'query' ? '' : `, in the ${place}`),
    isRequired: required,
    description: unless ? `${description}. Required without \`${unless}\`` : description,
  };
}

function fieldsOf({ properties = {}, required = [] }: JsonSchema): Row[] {
  return Object.entries(properties as Record<string, JsonSchema | Reference>).map(([name, field]) => {
    const schema = schemaOf(field) ?? {};
    const isRequired = required.includes(name);
    return { name, type: typeText(schema), isRequired, description: schema.description ?? '' };
  });
}

/** A schema, or the one that it refers to. */
function schemaOf(schema: JsonSchema | Reference | undefined): JsonSchema | undefined {
  const { $ref } = (schema ?? {}) as Partial<Reference>;
  if ($ref === undefined) return schema as JsonSchema | undefined;
  return (document.components.schemas as Record<string, JsonSchema>)[nameIn($ref)];
}

function nameIn(reference: string): string {
  return reference.split('/').at(-1) ?? '';
}

/** The most values of a choice that are listed. */
const MOST_VALUES = 12;

/** Describes the type of a value: `integer, 1 to 100, default 20`. */
function typeText(schema: JsonSchema): string {
  const { minimum, maximum, maxItems, default: preset } = schema;
  const range =
    minimum !== undefined && maximum !== undefined && Math.abs(maximum) < Number.MAX_SAFE_INTEGER
      ? `${minimum} to ${maximum}`
      : null;
  const facts = [
    kindText(schema),
    range,
    maxItems !== undefined && `at most ${maxItems}`,
    preset !== undefined && preset !== null && preset !== '' && `default ${stringifyJson(preset)}`,
  ];
  return facts.filter(Boolean).join(', ');
}

function kindText(schema: JsonSchema): string {
  const { type, enum: values, format, items, anyOf } = schema;
  if (values) {
    const shown = values.slice(0, MOST_VALUES).map(String);
    return `${shown.join(' | ')}${values.length > MOST_VALUES ? ' | …' : ''}`;
  }
  if (anyOf) {
    const kinds = new Set(anyOf.map((one) => kindText(schemaOf(one as JsonSchema) ?? {})));
    return [...kinds].join(' or ');
  }
  if (type === 'array') return `list of ${kindText(schemaOf(items as JsonSchema) ?? {})}`;
  return format ?? (Array.isArray(type) ? type.join(' or ') : (type ?? 'any'));
}

/** A request with the examples of its required parameters. */
export function exampleRequestOf({ method, path, operation }: Endpoint): ExampleRequest {
  const parameters = (operation.parameters ?? []).filter((one): one is ParameterObject => 'name' in one);
  const required = parameters.filter(
    ({ required, 'x-required-unless': unless }) => required || unless !== undefined,
  );
  // Of several parameters that replace each other, the first one.
  const chosen = required.filter(
    ({ 'x-required-unless': unless }, i) => !required.slice(0, i).some(({ name }) => name === unless),
  );
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const { example = EXAMPLE_ID } = parameters.find((one) => one.name === name) ?? {};
    return encodeURIComponent(String(example));
  });
  const query = new URLSearchParams(
    chosen.filter((one) => one.in === 'query').map(({ name, example }) => [name, exampleText(example)]),
  );
  const body = operation.requestBody?.content['application/json']?.example;
  return {
    method: method.toUpperCase(),
    url: query.size > 0 ? `${filled}?${decodeCommas(query)}` : filled,
    ...(body === undefined ? {} : { body }),
  };
}

function exampleText(example: unknown): string {
  if (Array.isArray(example)) return example.join(',');
  return typeof example === 'string' ? example : stringifyJson(example);
}

/** Commas need no encoding in a query. */
function decodeCommas(query: URLSearchParams): string {
  return query.toString().replaceAll('%2C', ',');
}

/** The fields of an answer, and an example of it. */
function Answer({ operation }: { operation: OperationObject }): VNode | null {
  const [status, response] = Object.entries(operation.responses)[0] ?? [];
  if (!response || '$ref' in response) return null;
  const { schema, examples } = response.content?.['application/json'] ?? {};
  const envelope = schemaOf(schema);
  const data = schemaOf((envelope?.properties as Record<string, JsonSchema> | undefined)?.data);
  const [example] = Object.values(examples ?? {});
  return (
    <>
      <p>
        Answers with <code>{status}</code>: <Line text={response.description} />
      </p>
      {data?.properties && (
        <details>
          <summary>
            Fields of <code>data</code>
          </summary>
          <Parameters name={`Answer of ${operation.operationId}`} rows={fieldsOf(data)} />
        </details>
      )}
      {example !== undefined && (
        <details>
          <summary>Example of an answer</summary>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: an element that scrolls must be reachable with the keyboard. */}
          <pre class="answer" tabIndex={0}>
            <code>{indentJson(stringifyJson(example.value))}</code>
          </pre>
        </details>
      )}
    </>
  );
}

const RESPONSES = document.components.responses as Record<string, ResponseObject>;

/** The errors of an endpoint, with links to their descriptions. */
function Errors({ responses }: { responses: OperationObject['responses'] }): VNode | null {
  const codes = Object.values(responses).flatMap((response) => {
    const description = '$ref' in response ? (RESPONSES[nameIn(response.$ref)]?.description ?? '') : '';
    return [...description.matchAll(/^`(\w+)`/gm)].map(([, code = '']) => code);
  });
  if (codes.length === 0) return null;
  return (
    <p class="hint">
      Errors:{' '}
      {codes.map((code, i) => (
        <>
          {i > 0 && ', '}
          <a href={`/docs/errors#${code.toLowerCase()}`}>{code}</a>
        </>
      ))}
    </p>
  );
}

/** A line of Markdown of a contract. */
function Line({ text }: { text: string }): VNode {
  // From the contracts of this repository, not from input.
  return <span dangerouslySetInnerHTML={{ __html: renderLine(text) }} />;
}
