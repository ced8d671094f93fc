"""Chunks as `bot.diff.chunk` writes them, each with defects that a reviewer should see."""

CHUNKS = {
    "sql_from_strings": """\
File 1: app/users.py (modified)
@@ def find_user(db, name):
1R10  def find_user(db, name):
1R11      \"\"\"Look a user up by name.\"\"\"
1L12 -    row = db.execute("SELECT * FROM users WHERE name = ?", (name,)).fetchone()
1R12 +    row = db.execute("SELECT * FROM users WHERE name = '" + name + "'").fetchone()
1R13      if row is None:
1R14          return None
1L15 -    return User(row["id"], row["name"])
1R15 +    return User(row["id"], row["nmae"])
""",
    "one_too_far": """\
File 1: src/cart.js (modified)
@@ export function total(cart) {
1R3   export function total(cart) {
1L4 -  if (!cart || !cart.items) return 0;
1R4 +  let sum = 0;
1R5 +  for (let i = 0; i <= cart.items.length; i++) {
1R6 +    sum += cart.items[i].price * cart.items[i].quantity;
1R7 +  }
1R8 +  return sum;
1R9   }
File 2: src/api.js (modified)
@@ export async function load(id) {
2R20  export async function load(id) {
2R21 +  const res = fetch(`/api/items/${id}`);
2R22 +  return res.json();
2R23  }
""",
    "ignored_error": """\
File 1: store/file.go (modified)
@@ func (s *Store) Save(path string, data []byte) error {
1R31  func (s *Store) Save(path string, data []byte) error {
1L32 - f, err := os.Create(path)
1L33 - if err != nil {
1L34 -     return err
1L35 - }
1R32 + f, _ := os.Create(path)
1R33 + s.mu.Lock()
1R34  _, err = f.Write(data)
1R35 + if err != nil {
1R36 +     return err
1R37 + }
1R38 + s.mu.Unlock()
1R39 + return nil
1R40  }
""",
    "weak_token": """\
File 1: src/main/java/shop/TokenService.java (added)
@@
1R1 +package shop;
1R2 +
1R3 +import java.util.Random;
1R4 +
1R5 +public class TokenService {
1R6 +    private static final String SECRET = "changeme";
1R7 +
1R8 +    public String newToken() {
1R9 +        Random random = new Random();
1R10 +        return Long.toHexString(random.nextLong());
1R11 +    }
1R12 +
1R13 +    public boolean isValid(String token) {
1R14 +        return token == SECRET;
1R15 +    }
1R16 +}
""",
    "open_port": """\
File 1: deploy/docker-compose.yml (modified)
@@ services:
1R5   web:
1R6     image: shop/web:latest
1R7     environment:
1R8 +      DEBUG: "true"
1R9 +      DATABASE_PASSWORD: hunter2
1R10    ports:
1L11 -      - "127.0.0.1:8080:8080"
1R11 +      - "0.0.0.0:8080:8080"
File 2: app/settings.py (modified)
@@ import os
2R14  TIMEOUT = 30
2R15 + ALLOWED_HOSTS = ["*"]
2R16 + CACHE = {}
2R17 +
2R18 + def remember(key, value, seen=[]):
2R19 +     seen.append(key)
2R20 +     CACHE[key] = value
2R21 +     return seen
""",
    "removed_check": """\
File 1: api/views.py (modified)
@@ class OrderView:
1R44      def delete(self, request, order_id):
1L45 -        if not request.user.is_staff:
1L46 -            raise PermissionDenied
1R45          order = Order.objects.get(pk=order_id)
1R46          order.delete()
1R47 +        log.info("order %s deleted by %s with token %s", order_id, request.user, request.token)
1R48          return Response(status=204)
""",
    "lost_remainder": """\
File 1: ledger/money.py (modified)
@@ def split(amount, people):
1R18  def split(amount, people):
1L19 -    share, rest = divmod(amount, people)
1R19 +    share = amount / people
1R20 +    rest = 0
1R21      return [share + (1 if i < rest else 0) for i in range(people)]
1R22 +
1R23 +
1R24 +def read_rates(path):
1R25 +    try:
1R26 +        return eval(open(path).read())
1R27 +    except:
1R28 +        pass
""",
}
