export type FeedingOrder<Batch extends { accountId: number }> = ReturnType<typeof createFeedingOrder<Batch>>;

/**
 * Decides which batch is fed next. Each step takes constant time, however many batches there are.
 * @param batches the one that was fed longest ago first. @param underWay the number of calls under way by account.
 */
export function createFeedingOrder<Batch extends { accountId: number }>(
  batches: readonly Batch[],
  underWay: ReadonlyMap<number, number>,
) {
  /** Accounts by their calls under way. When an account moves to a later level, its entry in the old level stays and is skipped. */
  const levels: Queue<Account<Batch>>[] = [];
  const accounts = new Map<number, Account<Batch>>();
  let lowest = 0;

  function enter(account: Account<Batch>): void {
    levels[account.calls] ??= createQueue();
    levels[account.calls]?.push(account);
  }

  for (const batch of batches) {
    const { accountId } = batch;
    const known = accounts.get(accountId);
    const account = known ?? { calls: underWay.get(accountId) ?? 0, waiting: createQueue() };
    account.waiting.push(batch);
    if (known) continue;
    accounts.set(accountId, account);
    enter(account);
  }

  return {
    /** Takes a batch of the account with the fewest calls under way: of its batches, the one that was fed longest ago. */
    next(): Batch | undefined {
      while (lowest < levels.length) {
        const account = levels[lowest]?.shift();
        if (!account) lowest += 1;
        else if (account.calls === lowest) {
          const batch = account.waiting.shift();
          if (!batch) continue;
          enter(account);
          return batch;
        }
      }
    },
    /** Puts a batch behind the others of its account after some of its calls were fed. */
    putBack(batch: Batch, calls: number): void {
      const account = accounts.get(batch.accountId);
      if (!account) return;
      account.waiting.push(batch);
      account.calls += calls;
      enter(account);
    },
    /** Takes out the other batches of an account. @returns them. */
    dropAccount(accountId: number): Batch[] {
      return accounts.get(accountId)?.waiting.empty() ?? [];
    },
  };
}

interface Account<Batch> {
  calls: number;
  waiting: Queue<Batch>;
}

/** First in, first out, in constant time: `shift` of an array moves all others. */
interface Queue<Item> {
  push(item: Item): void;
  shift(): Item | undefined;
  /** Takes everything. */
  empty(): Item[];
}

function createQueue<Item>(): Queue<Item> {
  const items: Item[] = [];
  let first = 0;
  return {
    push: (item) => void items.push(item),
    shift: () => (first < items.length ? items[first++] : undefined),
    empty() {
      const rest = items.slice(first);
      first = items.length;
      return rest;
    },
  };
}
