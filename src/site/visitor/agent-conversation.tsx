import type { ComponentChildren, VNode } from 'preact';
import { count, money } from '../kit/words.tsx';
import { sampleFacts } from './sample-product.ts';

/** A conversation with an agent that uses Souk as tools, about the product of the front page. */
export function AgentConversation({ now }: { now: number }): VNode {
  const { price, lowest, rank, usualRank } = sampleFacts(now);
  const dollars = (amount: number) => money(Math.round(amount * 100), 'usd');
  const isCheap = price <= lowest * 1.1;
  const isRising = rank < usualRank;
  return (
    <section class="card" aria-labelledby="agents">
      <h2 id="agents">Or let your agent ask</h2>
      <ol class="conversation">
        <Turn by="You">Is this a good price for these headphones, and do people look for them?</Turn>
        <Call tool="market_get_product" price="1 unit" />
        <Call tool="web_trends_interest_over_time" price="1 unit" />
        <Turn by="Agent">
          {isCheap ? 'Yes. ' : 'Not yet. '}
          They cost {dollars(price)} now; the lowest price of the last year was {dollars(lowest)}. The sales
          rank is {count(rank)}, {isRising ? 'better' : 'worse'} than its average of {count(usualRank)} over
          three months.
        </Turn>
      </ol>
      <p class="hint">
        Souk is an MCP server: <a href="/docs/tools-for-agents">connect your agent</a>. It can ask for the
        price of a call before it makes it.
      </p>
    </section>
  );
}

function Turn({ by, children }: { by: string; children: ComponentChildren }): VNode {
  return (
    <li class={by === 'You' ? 'mine' : undefined}>
      <strong>{by}</strong>
      <p>{children}</p>
    </li>
  );
}

function Call({ tool, price }: { tool: string; price: string }): VNode {
  return (
    <li class="call">
      <code>{tool}</code> <small>{price}</small>
    </li>
  );
}
