/** A node of the category tree. Every root has three children with four leaves each. */
export interface CategoryNode {
  catId: number;
  name: string;
  /** 0 for a root. */
  parent: number;
  children: number[];
}

/** Root, its three children, and the product noun of each leaf. */
const TREE: readonly [string, readonly [string, readonly string[]][]][] = [
  [
    'Electronics',
    [
      ['Audio', ['Headphones', 'Bluetooth Speaker', 'Soundbar', 'Microphone']],
      ['Power', ['USB Charger', 'Power Bank', 'Extension Cord', 'Charging Cable']],
      ['Cameras', ['Action Camera', 'Tripod', 'Camera Bag', 'Memory Card']],
    ],
  ],
  [
    'Home & Kitchen',
    [
      ['Cookware', ['Frying Pan', 'Stock Pot', 'Baking Sheet', 'Knife Set']],
      ['Storage', ['Storage Box', 'Shoe Rack', 'Laundry Basket', 'Drawer Organizer']],
      ['Bedding', ['Pillow', 'Duvet Cover', 'Mattress Topper', 'Throw Blanket']],
    ],
  ],
  [
    'Beauty',
    [
      ['Skin Care', ['Face Serum', 'Moisturizer', 'Sunscreen', 'Cleansing Oil']],
      ['Hair', ['Shampoo', 'Hair Dryer', 'Hair Brush', 'Styling Gel']],
      ['Makeup', ['Lipstick', 'Mascara', 'Eyeshadow Palette', 'Makeup Brush Set']],
    ],
  ],
  [
    'Toys & Games',
    [
      ['Building', ['Building Blocks', 'Marble Run', 'Magnetic Tiles', 'Model Kit']],
      ['Games', ['Board Game', 'Card Game', 'Jigsaw Puzzle', 'Dice Set']],
      ['Outdoor Play', ['Water Blaster', 'Kite', 'Bubble Machine', 'Scooter']],
    ],
  ],
  [
    'Sports & Outdoors',
    [
      ['Fitness', ['Yoga Mat', 'Resistance Bands', 'Dumbbell Set', 'Jump Rope']],
      ['Camping', ['Tent', 'Sleeping Bag', 'Camping Stove', 'Headlamp']],
      ['Cycling', ['Bike Lock', 'Bike Light', 'Cycling Gloves', 'Bike Pump']],
    ],
  ],
  [
    'Pet Supplies',
    [
      ['Dogs', ['Dog Bed', 'Dog Leash', 'Chew Toy', 'Dog Bowl']],
      ['Cats', ['Cat Tree', 'Cat Litter', 'Cat Toy', 'Cat Carrier']],
      ['Aquariums', ['Aquarium Filter', 'Fish Food', 'Aquarium Light', 'Air Pump']],
    ],
  ],
  [
    'Office Products',
    [
      ['Paper', ['Notebook', 'Printer Paper', 'Sticky Notes', 'Envelope Pack']],
      // plain-english: allow
      ['Desk', ['Desk Lamp', 'Monitor Stand', 'Mouse Pad', 'Desk Organizer']],
      ['Writing', ['Gel Pen Set', 'Fountain Pen', 'Marker Set', 'Mechanical Pencil']],
    ],
  ],
  [
    'Garden',
    [
      ['Tools', ['Garden Hose', 'Pruning Shears', 'Leaf Rake', 'Watering Can']],
      ['Plants', ['Planter', 'Seed Starter Tray', 'Grow Light', 'Potting Soil']],
      ['Patio', ['Patio Umbrella', 'Outdoor Rug', 'String Lights', 'Fire Pit']],
    ],
  ],
  [
    'Automotive',
    [
      ['Interior', ['Phone Mount', 'Seat Cover', 'Floor Mats', 'Trunk Organizer']],
      ['Care', ['Car Wax', 'Microfiber Towels', 'Tire Inflator', 'Car Vacuum']],
      ['Parts', ['Wiper Blades', 'LED Headlight Bulb', 'Air Filter', 'Brake Pads']],
    ],
  ],
  [
    'Baby',
    [
      ['Feeding', ['Baby Bottle', 'High Chair', 'Bib Set', 'Bottle Warmer']],
      ['Nursery', ['Crib Sheet', 'Baby Monitor', 'Night Light', 'Changing Pad']],
      ['Travel', ['Stroller', 'Car Seat Cover', 'Diaper Bag', 'Baby Carrier']],
    ],
  ],
];

const CHILDREN = 3;
const LEAVES = 4;

export const LEAF_COUNT = TREE.length * CHILDREN * LEAVES;

/** Returns the positions of root, child and leaf. */
function position(leaf: number): [number, number, number] {
  return [Math.floor(leaf / (CHILDREN * LEAVES)), Math.floor(leaf / LEAVES) % CHILDREN, leaf % LEAVES];
}

const rootId = (root: number) => (root + 1) * 100_000;
const childId = (root: number, child: number) => rootId(root) + (child + 1) * 1_000;
const leafId = (root: number, child: number, leaf: number) => childId(root, child) + (leaf + 1) * 10;

/** Returns the path from the root to a leaf, root first. */
export function pathOfLeaf(leaf: number): CategoryNode[] {
  const [root, child, last] = position(leaf);
  return [rootId(root), childId(root, child), leafId(root, child, last)].map(
    (id) => NODES.get(id) as CategoryNode,
  );
}

/** Returns the product noun of a leaf. */
export function nounOfLeaf(leaf: number): string {
  return pathOfLeaf(leaf)[2]?.name ?? '';
}

const NODES = new Map<number, CategoryNode>();
const LEAVES_BELOW = new Map<number, number[]>();

TREE.forEach(([rootName, children], root) => {
  const rootChildren = children.map((_, child) => childId(root, child));
  NODES.set(rootId(root), { catId: rootId(root), name: rootName, parent: 0, children: rootChildren });
  children.forEach(([childName, nouns], child) => {
    const leaves = nouns.map((_, leaf) => leafId(root, child, leaf));
    NODES.set(childId(root, child), {
      catId: childId(root, child),
      name: childName,
      parent: rootId(root),
      children: leaves,
    });
    nouns.forEach((noun, leaf) => {
      const catId = leafId(root, child, leaf);
      NODES.set(catId, { catId, name: noun, parent: childId(root, child), children: [] });
      const index = (root * CHILDREN + child) * LEAVES + leaf;
      for (const id of [rootId(root), childId(root, child), catId]) {
        LEAVES_BELOW.set(id, [...(LEAVES_BELOW.get(id) ?? []), index]);
      }
    });
  });
});

export function categoryNode(catId: number): CategoryNode | undefined {
  return NODES.get(catId);
}

export function allCategories(): CategoryNode[] {
  return [...NODES.values()];
}

export function rootCategories(): CategoryNode[] {
  return allCategories().filter(({ parent }) => parent === 0);
}

/** Returns the indices of the leaves at or below a category. */
export function leavesBelow(catId: number): number[] {
  return LEAVES_BELOW.get(catId) ?? [];
}
