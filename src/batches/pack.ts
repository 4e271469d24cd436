import type { Pack, QueuedOperation } from '../operations/define.ts';
import type { PoolName } from '../operations/pools.ts';
import { fingerprint } from '../platform/fingerprint.ts';

/** A valid item of a batch. */
export interface Item {
  /** The parameters as sent. */
  raw: unknown;
  /** The canonical input. */
  input: unknown;
}

/** A call of a batch, for one item or for several consecutive ones. */
export interface PackedCall {
  firstItem: number;
  items: readonly unknown[];
  input: unknown;
  units: number;
  pool: PoolName;
}

/**
 * Packs items into as few calls as possible: neighbours share a call if they differ only in the list of ids that
 * their operation accepts.
 * @param maxUnits the highest price of a call; a call for a single item may cost more.
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
  /** The part of the input that all items of the call share; null if the operation cannot pack items. */
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
  // Repeated ids count too: the answer to a call is split in memory.
  if (open.ids.size + added.length > most || open.raws.length >= most) return null;
  if (maxUnits !== Number.POSITIVE_INFINITY) {
    const input = { ...record, [fieldOf(pack, record)]: [...open.ids, ...added] };
    if (operation.price.quote(input) > maxUnits) return null;
  }
  for (const id of added) open.ids.add(id);
  open.raws.push(raw);
  return open;
}

function close(operation: QueuedOperation, { firstItem, raws, input, ids }: OpenCall): PackedCall {
  const { pack } = operation;
  // Parsed again, so that the packed input is as canonical as the input of a request.
  const whole =
    pack && raws.length > 1 ? operation.params.parse({ ...input, [fieldOf(pack, input)]: [...ids] }) : input;
  return {
    firstItem,
    items: raws,
    input: whole,
    units: operation.price.quote(whole),
    pool: operation.queue(whole),
  };
}

function fieldOf({ fields }: Pack<unknown>, input: Record<string, unknown>): string {
  return fields.find((field) => input[field] !== undefined) ?? fields[0];
}

function idsOf(pack: Pack<unknown>, input: Record<string, unknown>): readonly string[] {
  return input[fieldOf(pack, input)] as string[];
}

function sharedPart(pack: Pack<unknown>, input: Record<string, unknown>): string {
  const field = fieldOf(pack, input);
  const { [field]: _, ...shared } = input;
  return fingerprint({ field, shared });
}
