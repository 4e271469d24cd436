import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import type { HostAddress, Resolve } from './address-guard.ts';

export interface HostLookupOptions {
  /** Addresses of name servers with their ports. Default: those of the system. */
  servers?: readonly string[];
  /** Names that are not looked up. Default: the hosts file of the system. */
  hostsFile?: string;
}

/** The time limit of a query to one name server; a query is sent twice. */
const QUERY_TIMEOUT_MS = 2_000;

const SYSTEM_HOSTS = '/etc/hosts';

/**
 * Creates a lookup of host names that asks name servers directly. The system's own lookup occupies one of the few
 * threads of the process until a name server answers, and cannot be cancelled. Search domains do not apply, so names
 * are complete.
 */
export function createHostLookup({ servers, hostsFile = SYSTEM_HOSTS }: HostLookupOptions = {}): Resolve {
  return async (hostname, signal) => {
    const name = hostname.replace(/\.$/, '').toLowerCase();
    const listed = addressesIn(await readFile(hostsFile, 'utf8').catch(() => ''), name);
    return listed.length > 0 ? listed : query(name, servers, signal);
  };
}

/** Returns the addresses that a hosts file has for a name. */
function addressesIn(hosts: string, name: string): HostAddress[] {
  return hosts.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    const isListed = isIP(address) > 0 && names.some((listed) => listed.toLowerCase() === name);
    return isListed ? [{ address, family: isIP(address) }] : [];
  });
}

/** Queries both families of addresses. @throws the error of the last query if neither brings an address. */
async function query(
  name: string,
  servers: readonly string[] | undefined,
  signal: AbortSignal,
): Promise<HostAddress[]> {
  signal.throwIfAborted();
  // A resolver for one name: cancelling ends all queries of a resolver.
  const resolver = new Resolver({ timeout: QUERY_TIMEOUT_MS, tries: 2 });
  if (servers) resolver.setServers(servers);
  const cancel = () => resolver.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const found = [...addressesOf(v4, 4), ...addressesOf(v6, 6)];
    if (found.length === 0 && v4.status === 'rejected') throw v4.reason;
    return found;
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}

function addressesOf(answer: PromiseSettledResult<string[]>, family: number): HostAddress[] {
  return answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family })) : [];
}
