import { readFileSync } from 'node:fs';
import { projectFile } from '../../src/platform/project.ts';
import { readTree } from './tree.ts';

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
