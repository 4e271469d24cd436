import type { Pack, QueuedOperation } from '../operations/define.ts';
import type { PoolName } from '../operations/pools.ts';
import { fingerprint } from '../platform/fingerprint.ts';

/** One valid item of a batch. */
export interface Item {
  /** As it was sent. */
  raw: unknown;
  /** Canonical. */
  input: unknown;
}

/** One call that a batch is done by, for one item or several that follow each other. */
export interface PackedCall {
  firstItem: number;
  items: readonly unknown[];
  input: unknown;
  units: number;
  pool: PoolName;
}

/**
 * Puts items into as few calls as can be: neighbours that differ only in the list their operation packs by share one.
 * @param maxUnits the most one call may cost, unless it is for a single item.
 */
export function* packItems(
  operation: QueuedOperation,
  items: Iterable<Item>,
  { firstItem = 0, maxUnits = Number.POSITIVE_INFINITY } = {},
): Generator<PackedCall> {
  let open: OpenCall | null = null;
  let index = firstItem;
  for (const item of items) {
    const grown: OpenCall | null = open && grow(operation, open, item, maxUnits);
    if (open && !grown) yield close(operation, open);
    open = grown ?? begin(operation, item, index);
    index += 1;
  }
  if (open) yield close(operation, open);
}

interface OpenCall {
  firstItem: number;
  raws: unknown[];
  input: Record<string, unknown>;
  /** What of the input all items of the call share; null where the operation packs nothing. */
  shared: string | null;
  ids: Set<string>;
}

function begin({ pack }: QueuedOperation, { raw, input }: Item, firstItem: number): OpenCall {
  const record = input as Record<string, unknown>;
  return {
    firstItem,
    raws: [raw],
    input: record,
    shared: pack ? sharedPart(pack, record) : null,
    ids: new Set(pack ? idsOf(pack, record) : []),
  };
}

function grow(
  operation: QueuedOperation,
  open: OpenCall,
  { raw, input }: Item,
  maxUnits: number,
): OpenCall | null {
  const { pack } = operation;
  const record = input as Record<string, unknown>;
  if (!pack || open.shared !== sharedPart(pack, record)) return null;
  const added = idsOf(pack, record).filter((id) => !open.ids.has(id));
  const most = pack.max(record);
  // However often an id is repeated: what a call brings is told apart in memory.
  if (open.ids.size + added.length > most || open.raws.length >= most) return null;
  if (maxUnits !== Number.POSITIVE_INFINITY) {
    const input = { ...record, [pack.field]: [...open.ids, ...added] };
    if (operation.price.quote(input) > maxUnits) return null;
  }
  for (const id of added) open.ids.add(id);
  open.raws.push(raw);
  return open;
}

function close(operation: QueuedOperation, { firstItem, raws, input, ids }: OpenCall): PackedCall {
  const { pack } = operation;
  // Parsed again, so that it is as canonical as what a request would have brought.
  const whole =
    pack && raws.length > 1 ? operation.params.parse({ ...input, [pack.field]: [...ids] }) : input;
  return {
    firstItem,
    items: raws,
    input: whole,
    units: operation.price.quote(whole),
    pool: operation.queue(whole),
  };
}

function idsOf({ field }: Pack<unknown>, input: Record<string, unknown>): readonly string[] {
  return input[field] as string[];
}

function sharedPart({ field }: Pack<unknown>, input: Record<string, unknown>): string {
  const { [field]: _, ...shared } = input;
  return fingerprint(shared);
}
