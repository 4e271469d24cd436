import { stemmer } from 'stemmer';
import { z } from 'zod';
import { isInScope, type KeyScopes } from '../../accounts/key-settings.ts';
import { didYouMean } from '../../operations/faults.ts';
import type { JsonSchema } from '../../operations/params/request.ts';
import { integer, problem, text } from '../../operations/params/scalars.ts';
import { DEFAULT_TOOLS, type Listing } from '../../operations/toolsets.ts';
import { invalidParameters } from '../../platform/errors.ts';
import { callOptionsSchema, parseAs } from '../operations/call-options.ts';
import type { ToolResult } from './protocol.ts';
import { structured } from './results.ts';
import { tokensIn } from './token-bound.ts';
import { type Arguments, type ListedTool, OPTIONS, type Tool } from './tool.ts';
import { refuseUnknown } from './tool-requests.ts';
import { isIn, TOOLS } from './tools.ts';

// The tools that reach all tools: an agent needs the schemas of a few, and all of them would take four times the tokens.

/** The most tools that a search returns with their schemas. */
const MOST_FOUND = 5;

export const TOOLS_SEARCH: ListedTool = {
  name: 'tools_search',
  description: 'Finds further tools by words; returns their price and input schema. Units: 0.',
  inputSchema: {
    type: 'object',
    properties: {
      query: { type: 'string', description: 'What to do, such as "deals" or "create schedule"' },
      limit: { type: 'integer', description: 'Tools to return', default: 2, maximum: MOST_FOUND },
      ...OPTIONS,
    },
    required: ['query'],
  },
  annotations: { title: 'Search tools', readOnlyHint: true, destructiveHint: false, openWorldHint: false },
};

export const TOOLS_CALL: ListedTool = {
  name: 'tools_call',
  description: 'Calls any tool; some of them change or delete. Units: those of the tool.',
  inputSchema: {
    type: 'object',
    properties: {
      name: { type: 'string', description: 'Name of the tool' },
      arguments: { type: 'object', description: 'Arguments of the tool' },
      ...OPTIONS,
    },
    required: ['name'],
  },
  annotations: {
    title: 'Call tool',
    readOnlyHint: false,
    destructiveHint: true,
    openWorldHint: true,
    idempotentHint: false,
  },
};

/** Returns the tools for `tools/list`, without those that the key must not use. */
export function listedTools(listing: Listing, scopes: KeyScopes): ListedTool[] {
  const isDefault = listing.includes('default');
  const byDefault = isDefault ? DEFAULT_TOOLS.flatMap((name) => TOOLS.get(name) ?? []) : [];
  const selected = [...TOOLS.values()].filter((tool) => isIn(tool, listing));
  const tools = [...new Set([...byDefault, ...selected])].filter((tool) => isInScope(scopes, tool.scopes));
  return [...tools.map(({ listed }) => listed), ...(isDefault ? [TOOLS_SEARCH, TOOLS_CALL] : [])];
}

const { dryRun, maxUnits } = callOptionsSchema.shape;
const searchSchema = z.object({
  query: text({ maxLength: 300 }),
  limit: integer({ min: 1, max: MOST_FOUND }).default(2),
  dryRun,
  maxUnits,
});

/**
 * Returns the best matches with their schemas, as many as fit, and the names of the others; without a match, the names of all
 * tools that the key may use.
 * @throws SoukError VALIDATION_FAILED.
 */
export function searchTools(scopes: KeyScopes, args: Arguments, budgetTokens: number): ToolResult {
  const { query, limit, dryRun: isDry } = parsed(searchSchema, args);
  if (isDry) return structured({ dryRun: true, operation: TOOLS_SEARCH.name, units: 0, admitted: true });
  const allowed = [...TOOLS.values()].filter((tool) => isInScope(scopes, tool.scopes));
  const words = wordsOf(query);
  const found = allowed
    .map((tool) => ({ tool, score: scoreOf(tool, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score);
  const least = (found[0]?.score ?? 0) * NEAR;
  const tools: object[] = [];
  let left = budgetTokens - ABOUT_SEARCH_TOKENS;
  for (const { tool } of found.slice(0, limit).filter(({ score }) => score >= least)) {
    const entry = entryOf(tool);
    left -= tokensIn(JSON.stringify(entry));
    if (left >= 0) tools.push(entry);
  }
  const others = (found.length > 0 ? found.map(({ tool }) => tool) : allowed).map(
    ({ listed }) => listed.name,
  );
  return structured({
    tools,
    others: others.slice(tools.length, found.length > 0 ? tools.length + MOST_FOUND : undefined),
  });
}

/** A tool is shown with its schema if its score is at least this part of the best one. */
const NEAR = 0.6;

/** Tokens of a result beside its tools. */
const ABOUT_SEARCH_TOKENS = 1_000;

function entryOf({ listed: { name, inputSchema, annotations }, summary, price }: Tool): object {
  const { readOnlyHint, destructiveHint } = annotations;
  const effect = readOnlyHint ? {} : { effect: destructiveHint ? 'deletes' : 'changes' };
  return { name, summary, units: price, ...effect, inputSchema };
}

/** The words of a tool by their weight: those of its name count most, then those of its summary, then those of its arguments. */
const WORDS: ReadonlyMap<Tool, ReadonlyMap<string, number>> = new Map(
  [...TOOLS.values()].map((tool) => [tool, weightsOf(tool)]),
);

/** How many tools have a word. A word of few tools says more about them. */
const FREQUENCIES = new Map<string, number>();
for (const weights of WORDS.values())
  for (const word of weights.keys()) FREQUENCIES.set(word, (FREQUENCIES.get(word) ?? 0) + 1);

function weightsOf({ listed: { name, inputSchema }, summary, toolset }: Tool): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  const add = (source: string, weight: number) => {
    for (const word of wordsOf(source)) weights.set(word, Math.max(weight, weights.get(word) ?? 0));
  };
  add(`${name} ${toolset}`, 4);
  add(summary, 2);
  for (const [argument, schema] of Object.entries(inputSchema.properties ?? {}))
    add(`${argument} ${(schema as JsonSchema).description ?? ''}`, 1);
  return weights;
}

function scoreOf(tool: Tool, words: readonly string[]): number {
  const found = words.flatMap((word) => {
    const weight = WORDS.get(tool)?.get(word);
    const rarity = Math.log(1 + WORDS.size / (FREQUENCIES.get(word) ?? WORDS.size));
    return weight === undefined ? [] : [weight * rarity];
  });
  // A tool with all words is better than one with a single word in its name.
  return (found.reduce((sum, score) => sum + score, 0) * found.length) / words.length;
}

/** Returns the stems of the words of a text, each once: `bestSellers` has two. */
function wordsOf(source: string): string[] {
  const words =
    source
      .replace(/(?<=[a-z])(?=[A-Z])/g, ' ')
      .toLowerCase()
      .match(/[a-z0-9]{3,}/g) ?? [];
  return [...new Set(words.map((word) => stemmer(word)))];
}

const callSchema = z.object({
  name: text({ maxLength: 100 }),
  arguments: z.record(z.string(), z.unknown(), problem('must be an object')).nullish(),
});

/**
 * Returns the tool and the arguments of a call by name. maxUnits and dryRun may stand beside the arguments.
 * @throws SoukError VALIDATION_FAILED; for an unknown name with the nearest one that the key may use.
 */
export function calledTool(scopes: KeyScopes, given: Arguments): { name: string; args: Arguments } {
  const { name, arguments: own } = parsed(callSchema, given);
  const { name: _, arguments: __, ...options } = given;
  if (TOOLS.has(name)) return { name, args: { ...options, ...own } };
  const known = [...TOOLS.values()].filter((tool) => isInScope(scopes, tool.scopes));
  const near = didYouMean(
    name,
    known.map(({ listed }) => listed.name),
  );
  throw invalidParameters([
    { parameter: 'name', problem: `is not a tool${near || '; tools_search finds tools'}` },
  ]);
}

/** Parses the arguments of one of these tools. @throws SoukError VALIDATION_FAILED. */
function parsed<Shape extends z.ZodRawShape>(schema: z.ZodObject<Shape>, args: Arguments) {
  const known = new Set([...Object.keys(schema.shape), ...Object.keys(OPTIONS)]);
  refuseUnknown(args, known, [...known]);
  const given = Object.fromEntries(Object.entries(args).filter(([, value]) => value !== null));
  return parseAs(schema, given);
}
