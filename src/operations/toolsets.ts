/** Groups of MCP tools. Each listed tool costs an agent tokens in every conversation, so agents select groups. */
export const TOOLSETS = [
  'account',
  'billing',
  'products',
  'categories',
  'sellers',
  'deals',
  'visuals',
  'aba',
  'trends',
  'research',
  'jobs',
  'batches',
  'schedules',
  'trackers',
] as const;

export type Toolset = (typeof TOOLSETS)[number];

/** Always listed, because answers of all tools refer to these. */
export const CONSTANT_TOOLSETS: readonly Toolset[] = ['account', 'jobs'];

export const DEFAULT_TOOLSETS: readonly Toolset[] = ['products', 'categories', 'sellers', 'aba', 'trends'];

/** Names for several toolsets. */
const FAMILIES: Readonly<Record<string, readonly Toolset[]>> = {
  default: DEFAULT_TOOLSETS,
  market: ['products', 'categories', 'sellers', 'deals', 'visuals'],
  all: TOOLSETS,
};

export const TOOLSET_NAMES: readonly string[] = [...TOOLSETS, ...Object.keys(FAMILIES)];

/** Returns the toolsets of a list such as `market,aba`; null when a name is not in `TOOLSET_NAMES`. */
export function readToolsets(text: string): readonly Toolset[] | null {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  if (names.length === 0 || names.some((name) => !TOOLSET_NAMES.includes(name))) return null;
  return names.flatMap((name) =>
    Object.hasOwn(FAMILIES, name) ? (FAMILIES[name] ?? []) : (name as Toolset),
  );
}
