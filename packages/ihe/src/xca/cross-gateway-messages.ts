/** The SOAP actions of ITI-38 and ITI-39. */
export const CROSS_GATEWAY_ACTIONS = {
  query: 'urn:ihe:iti:2007:CrossGatewayQuery',
  queryResponse: 'urn:ihe:iti:2007:CrossGatewayQueryResponse',
  retrieve: 'urn:ihe:iti:2007:CrossGatewayRetrieve',
  retrieveResponse: 'urn:ihe:iti:2007:CrossGatewayRetrieveResponse',
} as const;
