import type { CategoryNode, Leaf, Season } from './categories.ts';

const COLOURS: Leaf['looks'] = {
  dimension: 'Color',
  values: ['Black', 'White', 'Blue', 'Red', 'Green', 'Grey', 'Beige', 'Pink', 'Silver'],
};

/**
 * Reads tree.txt: `# Root`, then its lists; `## Child, season`, then its lists; and a line for each leaf, `Noun | drawing |
 * lowest-highest price | other words`. A position in the file determines a category's id, so new categories are appended to their list.
 */
export function readTree(text: string): { nodes: CategoryNode[]; leaves: Leaf[] } {
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
