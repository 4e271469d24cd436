import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';

/** A server of client id metadata documents, with a certificate of `TEST_AUTHORITY`. */
export interface MetadataServer {
  /** Publishes a document. @returns its address, which is the id of the client. */
  publish(path: string, document: object): string;
  /** Paths that were asked for. */
  requests: string[];
  close(): Promise<void>;
}

export async function openMetadataServer(): Promise<MetadataServer> {
  const documents = new Map<string, string>();
  const requests: string[] = [];
  const server = createServer({ key: KEY, cert: CERTIFICATE }, ({ url = '' }, reply) => {
    requests.push(url);
    const document = documents.get(url);
    reply.writeHead(document ? 200 : 404, { 'content-type': 'application/json' }).end(document ?? '{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    requests,
    publish(path, document) {
      const address = `https://127.0.0.1:${port}${path}`;
      documents.set(path, JSON.stringify({ ...document, client_id: address }));
      return address;
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/** The certificate of an authority that only tests know. */
export const TEST_AUTHORITY = `-----BEGIN CERTIFICATE-----
MIIBmTCCAT+gAwIBAgIUCSTGrz7aRfXyOMcpFA72tZP4+jUwCgYIKoZIzj0EAwIw
ITEfMB0GA1UEAwwWVGVzdCBhdXRob3JpdHkgb2YgU291azAgFw0yNjExMjcxOTEx
NDlaGA8yMTI2MTEwMzE5MTE0OVowITEfMB0GA1UEAwwWVGVzdCBhdXRob3JpdHkg
b2YgU291azBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABFJl+5LnZNnFQ/B7+Ezb
d1ROViXHJqPeEpNRzDUtXGkaVVRvQF2mejzA0LPMjmP4hGnDKjmlHPSSMWyBfFel
K0KjUzBRMB0GA1UdDgQWBBTHovgGTQqK8jAwIzy9Wj843sIi2jAfBgNVHSMEGDAW
gBTHovgGTQqK8jAwIzy9Wj843sIi2jAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49
BAMCA0gAMEUCID/ONOGbkD7tNMqSOM4oZ0R6OoOIKSE1Z6UBQAE13atEAiEAyqzz
Mq+vV3Y63Wt8ffM3uOft5RC9ExnYVmv/c2VP24w=
-----END CERTIFICATE-----
`;

/** A certificate of it for 127.0.0.1. */
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBmDCCAT2gAwIBAgIUZVOoP7uNtyLJr8HM8phXECeyficwCgYIKoZIzj0EAwIw
ITEfMB0GA1UEAwwWVGVzdCBhdXRob3JpdHkgb2YgU291azAgFw0yNjExMjcxOTEx
NDlaGA8yMTI2MTEwMzE5MTE0OVowFDESMBAGA1UEAwwJMTI3LjAuMC4xMFkwEwYH
KoZIzj0CAQYIKoZIzj0DAQcDQgAE0DhObvLu5K3Ng5E+yr+OQea2FwkLUtUHfL9B
fz+Y6Mgw2R0XfnZRngrSihmo+G7anKEKwy8MDY4pELOhT0gYwKNeMFwwDwYDVR0R
BAgwBocEfwAAATAJBgNVHRMEAjAAMB0GA1UdDgQWBBQqDsvQXdvphMq2P7lZfQVF
SfsoejAfBgNVHSMEGDAWgBTHovgGTQqK8jAwIzy9Wj843sIi2jAKBggqhkjOPQQD
AgNJADBGAiEAtVq2hJdQJuET2BOx2vPgofhnurhY7YydNvx36EAvAhsCIQDG/Yz1
mUACUpy6n3BB5IXF2xmY0cdKleuuVQ5Xa4YV2g==
-----END CERTIFICATE-----
`;

const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgJLIVd4rDH83R6NLC
ovE3PjX8Osevrlet+FW/zHA5j/GhRANCAATQOE5u8u7krc2DkT7Kv45B5rYXCQtS
1Qd8v0F/P5joyDDZHRd+dlGeCtKKGaj4btqcoQrDLwwNjikQs6FPSBjA
-----END PRIVATE KEY-----
`;
