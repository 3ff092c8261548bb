import { generate } from 'selfsigned';

/** Returns a self-signed ECDSA certificate for a host name and its private key, as PEM. */
export const selfSignedCertificate = async (host: string): Promise<{ key: string; cert: string }> => {
  const { private: key, cert } = await generate([{ name: 'commonName', value: host }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true },
      { name: 'subjectAltName', altNames: [{ type: 2, value: host }] },
    ],
  });
  return { key, cert };
};
