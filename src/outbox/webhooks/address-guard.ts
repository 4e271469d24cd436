import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

/** An IP address of a host. */
export interface HostAddress {
  address: string;
  family: number;
}

/** Returns all addresses of a host name. @throws if it has none, or when the signal aborts. */
export type Resolve = (hostname: string, signal: AbortSignal) => Promise<HostAddress[]>;

/**
 * An address to which webhooks must not be sent. The message is for the account, and does not reveal which
 * addresses were found.
 */
export class AddressRefused extends Error {}

/**
 * Keeps webhooks out of networks that only this service can reach.
 * @param allowPrivate allows private and loopback addresses; addresses that no receiver can have stay refused.
 */
export function createAddressGuard(allowPrivate: boolean, resolve: Resolve = createHostLookup()) {
  return {
    /**
     * Returns the addresses of a host, if all of them are allowed. Connections must use these addresses, because a
     * second lookup may return others.
     * @param signal ends the lookup.
     * @throws AddressRefused if one of them is not allowed, and the errors of the lookup.
     */
    async addressesOf(url: URL, signal: AbortSignal): Promise<HostAddress[]> {
      const refusal = refusalOf(url, allowPrivate);
      if (refusal) throw new AddressRefused(refusal);
      const literal = literalOf(url.hostname);
      const addresses = literal
        ? [{ address: literal, family: isIP(literal) }]
        : await resolve(url.hostname, signal);
      if (addresses.length === 0 || !addresses.every(({ address }) => isFit(address, allowPrivate)))
        throw new AddressRefused(NOT_PUBLIC);
      return addresses;
    },
  };
}

export type AddressGuard = ReturnType<typeof createAddressGuard>;

const NOT_PUBLIC = 'must not resolve to a private, local or reserved address';

/** Returns why this URL is refused, as far as its text shows; null if it is allowed. */
export function refusalOf(url: URL, allowPrivate: boolean): string | null {
  if (!/^https?:$/.test(url.protocol)) return 'must start with https:// or http://';
  if (url.username || url.password) return 'must not contain a user name or password';
  if (url.href.includes('#')) return 'must not contain a fragment';
  if (!isFitPort(url.port)) return 'must have a port that HTTP is served on: 80, 443, or one from 1024 up';
  const literal = literalOf(url.hostname);
  if (literal ? !isFit(literal, allowPrivate) : !allowPrivate && isLocalName(url.hostname)) return NOT_PUBLIC;
  return null;
}

/** Returns a lookup for `net.connect` that always returns these addresses, for any name. */
export function pinnedLookup(addresses: readonly HostAddress[]): LookupFunction {
  return (_hostname, options, callback) => {
    const wanted = addresses.filter(({ family }) => !options.family || options.family === family);
    const [first] = wanted;
    if (!first) callback(Object.assign(new Error('No address of this family.'), { code: 'ENOTFOUND' }), '');
    else if (options.all) callback(null, wanted);
    else callback(null, first.address, first.family);
  };
}

const GLOBAL_UNICAST_V6 = ipaddr.IPv6.parse('2000::');

/** Ranges that `allowPrivate` allows. Link-local addresses stay refused, because metadata services use them. */
const PRIVATE_RANGES: readonly string[] = ['loopback', 'private', 'uniqueLocal'];

/** Metadata services of clouds in public or private ranges. They reveal the secrets of a machine. */
const METADATA: readonly string[] = ['168.63.129.16', 'fd00:ec2::254', 'fd20:ce::254'];

/**
 * Returns whether connections may go to this IP address. IPv6 addresses that contain an IPv4 address (mapped,
 * NAT64, 6to4, Teredo) have ranges of their own, which are never allowed.
 */
export function isFit(address: string, allowPrivate: boolean): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (METADATA.some((service) => ipaddr.parse(service).toString() === parsed.toString())) return false;
  const range = parsed.range();
  if (allowPrivate && PRIVATE_RANGES.includes(range)) return true;
  if (range !== 'unicast') return false;
  // "unicast" includes addresses outside all known ranges, such as the IPv4-compatible ::127.0.0.1. Only this block
  // has been allocated.
  return parsed instanceof ipaddr.IPv4 || parsed.match(GLOBAL_UNICAST_V6, 3);
}

/** Returns the IP address in a URL's host, which `URL` has already normalised; null if the host is a name. */
function literalOf(hostname: string): string | null {
  const bare = hostname.replace(/^\[(.*)\]$/, '$1');
  return isIP(bare) ? bare : null;
}

/** Names that are local by definition (RFC 6761) or by convention. */
function isLocalName(hostname: string): boolean {
  return /(^|\.)(localhost|local|internal)\.?$/.test(hostname);
}

/**
 * Ports from 1024 up that the Fetch standard blocks, because services of other protocols listen there and may act
 * on a request.
 */
const OTHER_PROTOCOLS: readonly number[] = [
  1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697,
  10_080,
];

function isFitPort(port: string): boolean {
  if (port === '' || port === '80' || port === '443') return true;
  return Number(port) >= 1024 && !OTHER_PROTOCOLS.includes(Number(port));
}

interface HostLookupOptions {
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
