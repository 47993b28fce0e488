// Operators' browsers at a live dashboard, and the provider that knows them: node-oidc-provider, as its own pages sign
// people in. Called with the provider's issuer, an address of this machine, and the server's address.
import { browser, violations } from './browser.mjs'
import { Provider } from 'oidc-provider'

// The provider's notices: what is printed is what is told.
console.info = console.warn = console.error
const [issuer, server] = process.argv.slice(2)
const roles = { ada: ['administrator'], grace: ['accounting'], nobody: ['gardener'] }
const provider = new Provider(issuer, {
  clients: [{
    client_id: 'dashboard',
    client_secret: 'secret-of-the-dashboard-0123456789',
    redirect_uris: [`${server}/dashboard/sign-in/answer`],
  }],
  claims: { email: ['email'], profile: ['roles'] },
  // Claims of scopes stand in the ID token, too, as with most providers.
  conformIdTokenClaims: false,
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, email: `${id}@example.com`, roles: roles[id] }) }),
})
const listening = provider.listen(Number(new URL(issuer).port), new URL(issuer).hostname)

const complaints = []
const told = { violations: [] }

async function visitor() {
  const context = await browser.newContext()
  context.setDefaultTimeout(120_000)
  const page = await context.newPage()
  page.on('console', (message) => {
    // Answers that refuse are told by the browser as well.
    if (page.url().startsWith(server) && !message.text().includes('status of')) complaints.push(`${page.url()}: ${message.text()}`)
  })
  return page
}

// Signs in, and returns the page to which that leads.
async function signIn(name) {
  const page = await visitor()
  await page.goto(`${server}/dashboard/charges`)
  told.violations.push(...await violations(page, page.url()))
  await page.getByRole('link', { name: "Sign in with your organisation's account" }).click()
  await page.locator('[name=login]').fill(name)
  await page.locator('[name=password]').fill('any')
  await page.locator('[type=submit]').click()
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.waitForURL((address) => address.origin === new URL(server).origin)
  return page
}

const ada = await signIn('ada')
await ada.waitForURL(`${server}/dashboard/accounts`)
told.read = await ada.locator('body').ariaSnapshot()
told.violations.push(...await violations(ada, ada.url()))
await ada.getByRole('button', { name: 'Shop' }).click()
await ada.waitForURL(`${server}/dashboard`)
await ada.goto(`${server}/dashboard/charges`)
told.charges = await ada.title()

const again = await signIn('ada')
await again.waitForURL(`${server}/dashboard/accounts`)
const grace = await signIn('grace')
await grace.waitForURL(`${server}/dashboard/accounts`)
await ada.getByRole('button', { name: 'Sign out everywhere' }).click()
await ada.waitForURL(`${server}/dashboard/sign-in`)
told.left = []
for (const page of [ada, again, grace]) {
  await page.goto(`${server}/dashboard/accounts`)
  told.left.push(new URL(page.url()).pathname)
}

const nobody = await signIn('nobody')
told.refused = await nobody.getByRole('alert').textContent()

console.log(JSON.stringify({ ...told, complaints }))
await browser.close()
listening.close()
process.exit(0)
