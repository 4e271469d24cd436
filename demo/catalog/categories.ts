import { readFileSync } from 'node:fs';
import { projectFile } from '../../src/platform/project.ts';

/** A node of the category tree. */
export interface CategoryNode {
  catId: number;
  name: string;
  /** 0 for a root. */
  parent: number;
  children: number[];
}

/** What the products of a leaf have in common. */
export interface Leaf {
  /** Root, child and leaf. */
  path: readonly [CategoryNode, CategoryNode, CategoryNode];
  noun: string;
  /** What people search for, lower case; the noun is the first. */
  words: readonly string[];
  /** Name of the drawing. */
  picture: string;
  /** In the main unit of the currency. */
  prices: readonly [lowest: number, highest: number];
  season: Season;
  brands: readonly [string, ...string[]];
  looks: { dimension: string; values: readonly [string, ...string[]] };
  sizes: readonly [string, ...string[]];
  /** Words that people put before and after the noun. */
  before: readonly string[];
  after: readonly string[];
}

/** `even`: all year. `gifts`: before the turn of the year. */
export type Season = 'even' | 'summer' | 'winter' | 'gifts';

/** The share of the year at which a season's demand is highest, and how much it swings. */
const SEASONS: Record<Season, { peak: number; swing: number }> = {
  even: { peak: 0, swing: 0 },
  summer: { peak: 0.52, swing: 0.5 },
  winter: { peak: 0.02, swing: 0.35 },
  gifts: { peak: 0.94, swing: 0.45 },
};

/** Returns the demand, around 1. @param years since the beginning of a year. */
export function demandAt(season: Season, years: number): number {
  const { peak, swing } = SEASONS[season];
  return 1 + swing * Math.cos(2 * Math.PI * (years - peak));
}

const COLOURS: Leaf['looks'] = {
  dimension: 'Color',
  values: ['Black', 'White', 'Blue', 'Red', 'Green', 'Grey', 'Beige', 'Pink', 'Silver'],
};

const { nodes, leaves } = readTree(readFileSync(projectFile('demo/catalog/tree.txt'), 'utf8'));

const NODES = new Map(nodes.map((node) => [node.catId, node]));
const LEAVES_BELOW = new Map<number, number[]>();
for (const [index, { path }] of leaves.entries()) {
  for (const { catId } of path) LEAVES_BELOW.set(catId, [...(LEAVES_BELOW.get(catId) ?? []), index]);
}

export const LEAF_COUNT = leaves.length;

export function allLeaves(): readonly Leaf[] {
  return leaves;
}

/** @param index from 0 to LEAF_COUNT - 1. */
export function leafAt(index: number): Leaf {
  return leaves[index] as Leaf;
}

/** Returns the path from the root to a leaf, root first. */
export function pathOfLeaf(leaf: number): readonly CategoryNode[] {
  return leafAt(leaf).path;
}

export function categoryNode(catId: number): CategoryNode | undefined {
  return NODES.get(catId);
}

export function allCategories(): CategoryNode[] {
  return nodes;
}

export function rootCategories(): CategoryNode[] {
  return nodes.filter(({ parent }) => parent === 0);
}

/** Returns the indices of the leaves at or below a category. */
export function leavesBelow(catId: number): number[] {
  return LEAVES_BELOW.get(catId) ?? [];
}

/**
 * Reads tree.txt: `# Root`, then its lists; `## Child, season`, then its lists; and a line for each leaf, `Noun | drawing |
 * lowest-highest price | other words`. A position in the file determines a category's id, so new categories are appended to their list.
 */
function readTree(text: string): { nodes: CategoryNode[]; leaves: Leaf[] } {
  const nodes: CategoryNode[] = [];
  const leaves: Leaf[] = [];
  const add = (name: string, parent: CategoryNode | null, step: number) => {
    const siblings = nodes.filter((node) => node.parent === (parent?.catId ?? 0));
    const catId = (parent?.catId ?? 0) + (siblings.length + 1) * step;
    const node: CategoryNode = { catId, name, parent: parent?.catId ?? 0, children: [] };
    parent?.children.push(catId);
    nodes.push(node);
    return node;
  };
  for (const section of text.split(/^# /m).slice(1)) {
    const [head = '', ...children] = section.split(/^## /m);
    const [name = '', ...lines] = linesOf(head);
    const lists = new Map(lines.map((line) => listOf(line)));
    const root = add(name, null, 100_000);
    for (const part of children) {
      const [title = '', ...leafLines] = linesOf(part);
      const [childName = '', season] = title.split(', ');
      const child = add(childName, root, 1_000);
      const isLeaf = (line: string) => line.includes(' | ');
      const own = new Map([...lists, ...leafLines.filter((line) => !isLeaf(line)).map(listOf)]);
      for (const line of leafLines.filter(isLeaf)) {
        const leaf = leafOf(line, own, season as Season);
        leaves.push({ ...leaf, path: [root, child, add(leaf.noun, child, 10)] });
      }
    }
  }
  return { nodes, leaves };
}

function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}

type List = readonly [string, ...string[]];

function listOf(line: string): readonly [name: string, values: List] {
  const [name = '', values = ''] = line.split(': ');
  return [name, values.split(', ') as unknown as List];
}

function leafOf(line: string, lists: ReadonlyMap<string, List>, season: Season): Omit<Leaf, 'path'> {
  const [noun = '', picture = '', prices = '', words = ''] = line.split(' | ');
  const [lowest = 0, highest = 0] = prices.split('-').map(Number);
  const list = (name: string): List => lists.get(name) ?? [''];
  const format = lists.get('Format');
  const scent = lists.get('Scent');
  const looks = format
    ? { dimension: 'Format', values: format }
    : scent
      ? { dimension: 'Scent', values: scent }
      : COLOURS;
  return {
    noun,
    picture,
    season,
    looks,
    words: [noun.toLowerCase(), ...words.split(', ').filter(Boolean)],
    prices: [lowest, highest],
    brands: list('brands'),
    sizes: list('sizes'),
    before: list('before'),
    after: list('after'),
  };
}
