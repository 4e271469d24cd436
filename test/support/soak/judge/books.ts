import type { Granted, LedgerLine, Quota } from './history.ts';
import { availableOf, DAY_MS, isValid, type Source, Sources } from './sources.ts';

/** A violation of a rule, with what shows it. */
export interface Fault {
  promise: string;
  row: Record<string, unknown>;
}

/** A call as its ledger lines tell it. Units may be drawn on several sources. */
export interface BookedCall {
  callId: string;
  operation: string;
  keyId: number | null;
  /** When it was admitted. */
  at: number;
  reserved: number;
  held: number;
  used: number;
  isRefunded: boolean;
}

/** How long after its end a pack may be read before its expiry is missed. */
const EXPIRY_PATIENCE_MS = 15_000;

/** Replays the ledger of an account from its first line, with the limits and the order that the account was promised. */
export class Books {
  readonly faults: Fault[] = [];
  readonly calls = new Map<string, BookedCall>();
  readonly #sources: Sources;
  readonly #caps: ReadonlyMap<number, number>;
  /** Units that a source has given to a call, and the day in which it gave them. */
  readonly #drawn = new Map<string, { held: number; used: number; day: number | null }>();
  /** Units by key and day. */
  readonly #keyDays = new Map<string, number>();

  constructor(granted: Granted, lines: readonly LedgerLine[]) {
    this.#sources = new Sources(granted);
    this.#caps = new Map(granted.caps.map(({ keyId, capDay }) => [keyId, capDay]));
    const group: LedgerLine[] = [];
    for (const line of [...lines].sort((a, b) => a.line - b.line)) {
      const isAdmission = line.kind === 'reserve' || line.kind === 'charge';
      if (group.length > 0 && !(isAdmission && line.callId === group[0]?.callId))
        this.#admit(group.splice(0));
      if (isAdmission) group.push(line);
      else if (line.callId === null) this.#movePack(line);
      else this.#end(line);
    }
    if (group.length > 0) this.#admit(group);
    for (const call of this.calls.values()) if (call.held !== 0) this.#fault('every call ends', call);
  }

  #fault(promise: string, row: object): void {
    this.faults.push({ promise, row: { ...row } });
  }

  #admit(group: readonly LedgerLine[]): void {
    const [first] = group;
    if (!first?.callId) return;
    const { callId, keyId, kind } = first;
    const at = Date.parse(first.at);
    const reserved = group.reduce((sum, { units }) => sum + units, 0);
    if (this.calls.has(callId)) this.#fault('a call is admitted once', first);
    const did = group.flatMap(({ source, sourceId, units }): [Source, number][] => {
      const found = this.#sources.find(source, sourceId);
      return found ? [[found, units]] : [];
    });
    const should = this.#sources.promised(reserved, at);
    if (String(should.map(named)) !== String(did.map(named)) || did.length < group.length) {
      const [promised, drawn] = [should.map(named), did.map(named)];
      this.#fault(this.#reasonOf(did, at), { callId, at: first.at, reserved, promised, drawn });
    }
    this.#sources.take(did, at);
    const held = kind === 'charge' ? 0 : 1;
    const operation = first.operation ?? '';
    const units = { held: held * reserved, used: (1 - held) * reserved };
    this.calls.set(callId, { callId, keyId, at, reserved, operation, isRefunded: false, ...units });
    for (const [source, some] of did) {
      const day = source.type === 'subscription' ? source.day.start : null;
      this.#drawn.set(`${callId} ${nameOf(source)}`, { held: held * some, used: (1 - held) * some, day });
    }
    this.#countForKey(keyId, at, reserved, callId);
  }

  /** Names the rule that draws break which are not those of the promised order. */
  #reasonOf(did: readonly (readonly [Source, number])[], at: number): string {
    for (const [source, units] of did) {
      if (!isValid(source, at)) return 'nothing is drawn on a pack after its end';
      if (!this.#sources.isOpen(source, at)) return 'off-peak units are drawn in the off-peak window only';
      if (units > availableOf(source, at)) return 'no limit of a day, month or pack is ever exceeded';
      if (this.#sources.minuteLeft(source, at) <= 0) return 'no limit of a minute is ever exceeded';
    }
    return 'units are drawn in one order';
  }

  #countForKey(keyId: number | null, at: number, units: number, callId: string): void {
    if (keyId === null) return;
    const day = keyDay(keyId, at);
    const used = (this.#keyDays.get(day) ?? 0) + units;
    this.#keyDays.set(day, used);
    const cap = this.#caps.get(keyId) ?? Number.POSITIVE_INFINITY;
    if (units > 0 && used > cap)
      this.#fault('a key never uses more units than its cap', { keyId, cap, used, callId });
  }

  /** A grant or an expiry. */
  #movePack(line: LedgerLine): void {
    const pack = this.#sources.find(line.source, line.sourceId);
    if (pack?.type !== 'pack') {
      this.#fault('units belong to what the account was granted', line);
      return;
    }
    pack.left += line.kind === 'grant' ? line.units : -line.units;
    if (line.kind === 'grant' && pack.left !== pack.granted.units)
      this.#fault('a pack is granted once', line);
    if (pack.left < 0) this.#fault('no pack is ever overdrawn', line);
    if (line.kind === 'expire' && isValid(pack, Date.parse(line.at)))
      this.#fault('units of a pack expire at its end only', line);
  }

  /** A settlement, release or refund of a call, on one of its sources. */
  #end(line: LedgerLine): void {
    const { kind, units, callId } = line;
    const call = this.calls.get(callId ?? '');
    const source = this.#sources.find(line.source, line.sourceId);
    const draw = source && this.#drawn.get(`${callId} ${nameOf(source)}`);
    if (!call || !source || !draw) {
      this.#fault('only an admitted call ends', line);
      return;
    }
    for (const one of [call, draw]) {
      if (kind === 'refund') one.used -= units;
      else one.held -= units;
      if (kind === 'settle') one.used += units;
    }
    if (draw.held < 0 || draw.used < 0)
      this.#fault('every admitted call ends once, and is never charged more than was reserved', line);
    if (kind === 'settle') return;
    call.isRefunded ||= kind === 'refund';
    if (source.type === 'pack') source.left += units;
    else {
      // Units that were drawn yesterday do not return to today.
      if (draw.day === source.day.start) source.day.used -= units;
      source.month -= units;
    }
    this.#countForKey(call.keyId, call.at, -units, call.callId);
  }

  /** Compares the quota at the end with the replayed ledger. */
  compareQuota(quota: Quota, endAt: number): Fault[] {
    const now = Date.parse(quota.serverTime);
    const today = Math.floor(now / DAY_MS) * DAY_MS;
    const found: { promise: string; shown: number | undefined; booked: number }[] = [];
    const promise = 'the quota equals the ledger';
    for (const source of this.#sources.all) {
      if (source.type === 'subscription') {
        const { daily, monthly } = quota[source.granted.wallet];
        const used = source.day.start === today ? source.day.used : 0;
        found.push({ promise, shown: daily?.used, booked: used });
        found.push({ promise, shown: monthly?.used, booked: source.month });
      } else if (isValid(source, now)) {
        const { id } = source.granted;
        const item = quota.packs.items.find((pack) => pack.id === id);
        found.push({ promise, shown: item?.remainingUnits ?? 0, booked: source.left });
      } else if (source.granted.validUntil < endAt - EXPIRY_PATIENCE_MS) {
        found.push({ promise: 'the units left in a pack expire at its end', shown: 0, booked: source.left });
      }
    }
    const { key } = quota;
    if (key) {
      const used = this.#keyDays.get(keyDay(key.id, now)) ?? 0;
      found.push({ promise: 'the quota of a key equals the ledger', shown: key.used.day, booked: used });
    }
    return found
      .filter(({ shown, booked }) => shown !== booked)
      .map(({ promise: broken, ...row }) => ({ promise: broken, row: { ...row, quota } }));
  }
}

const keyDay = (keyId: number, at: number) => `${keyId} ${Math.floor(at / DAY_MS)}`;

const nameOf = ({ type, granted: { id } }: Source) => `${type} ${id}`;

const named = ([source, units]: readonly [Source, number]) => `${nameOf(source)}: ${units}`;
