export interface PageProps {
  readonly accountId: string;
  readonly appId: string;
}
